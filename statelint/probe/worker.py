"""The child process: imports what probes name, traces it, and prints the facts as JSON lines.

Runs as a script under the project's interpreter, with the standard library, jax and this package's own files
only. It is given one JSON object, on the first line of standard input, and says on its own standard output, one
object a line:

    {"job": 0, "event": "start", "alone": true}        nothing but this file has run in this process
    {"job": 0, "event": "trace", "name": ..., "site": [path, line], "facts": {...}}
    {"job": 0, "event": "failure", "name": ..., "at": {...} or null, "message": "...", "traceback": "..."}
    {"job": 0, "event": "environment", "env": {...}}        the probe asks for variables that are not set
    {"job": 0, "event": "done", "imported": [...], "jax": "0.10.2", "python": "3.11.7"}    new files
    {"job": 1, "event": "spoiled"}        what an earlier file did may be why this one is not traced well; start anew

What user code prints goes to standard error, with a mark after each job. Standard input stays open as long as the
client lives.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import signal
import sys
import threading
from json import JSONEncoder
from typing import Any, TextIO

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST_PYTHON = (3, 11)


def main() -> None:
    """Do the jobs on standard input."""
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(f"probes need Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer")
    order = json.loads(sys.stdin.buffer.readline())
    _load_own_package()
    _die_with(os.dup(0))
    noise = os.dup(2)
    report = _private_output()
    _work(order, report, noise)
    # Threads and exit hooks of user code have nothing more to say.
    os._exit(0)


def _work(order: dict[str, Any], report: TextIO, noise: int) -> None:
    # Once and for all: user code may change what an import gives, as may the modules of the project.
    from statelint.probe import jobs

    jobs.guard()
    ours = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [*order["sys_path"], *(path for path in sys.path if path != ours)]
    root, environment = os.getcwd(), jobs.environment()
    homes: set[str] = set()
    told: set[str] = set()
    for number, job in order["jobs"]:
        alone = homes <= {jobs.home(job)}
        if not alone and jobs.is_spoiled(environment):
            return emit(report, number, event="spoiled")
        homes.add(jobs.home(job))
        os.chdir(root)
        _listen(noise)
        emit(report, number, event="start", alone=alone)
        for message in jobs.do(job):
            # A failure is the code's own when nothing else has run before it.
            if message["event"] == "failure" and not (alone or message["sure"]):
                return emit(report, number, event="spoiled")
            emit(report, number, **message)
        imported = jobs.imported() - told
        told |= imported
        with contextlib.suppress(OSError):
            os.write(noise, order["mark"].encode())
        emit(report, number, event="done", imported=sorted(imported), jax=jobs.jax_version(), python=_PYTHON)
    return None


_encode = JSONEncoder().encode  # user code may put other functions in the place of json's
_PYTHON = sys.version.split()[0]


def emit(report: TextIO, number: int, **message: Any) -> None:
    """Say one thing about one job."""
    try:
        report.write(_encode({"job": number, **message}) + "\n")
        report.flush()
    except OSError:
        # User code has closed it. The client sees that, and that we still live, and ends us.
        threading.Event().wait()


def _private_output() -> TextIO:
    """Standard output for us alone."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return report


def _listen(noise: int) -> None:
    """Hear what user code prints, also from C, whatever an earlier file has made of these streams."""
    for stream in (1, 2):
        os.dup2(noise, stream)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__


def _die_with(client: int) -> None:
    """End this process and all that it started when the client is gone, however it went: its pipe is closed then."""
    from statelint.probe import processes

    mark = {processes.MARK: os.environ[processes.MARK]}

    def watch() -> None:
        os.read(client, 1)
        processes.end_all(mark, but=os.getpid())
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _load_own_package() -> None:
    """Make this very statelint importable, whatever is installed under the project's interpreter."""
    if "statelint" in sys.modules:
        return
    spec = importlib.util.spec_from_file_location(
        "statelint", os.path.join(PACKAGE, "__init__.py"), submodule_search_locations=[PACKAGE]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["statelint"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main()
