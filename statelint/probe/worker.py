"""The child process: imports what probes name, traces it, and prints the facts as JSON lines.

Runs as a script under the project's interpreter, with the standard library, jax and this package's own files
only. It is given one JSON object on standard input, and says on its own standard output, one object a line:

    {"job": 0, "event": "start"}
    {"job": 0, "event": "trace", "name": ..., "site": [path, line], "facts": {...}}
    {"job": 0, "event": "failure", "name": ..., "at": {...} or null, "message": "..."}
    {"job": 0, "event": "environment", "env": {...}}        the probe asks for variables that are not set
    {"job": 0, "event": "done"}

What user code prints goes to standard error.
"""

from __future__ import annotations

import faulthandler
import importlib.metadata
import importlib.util
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from typing import Any, TextIO

OLDEST_JAX = (0, 5)
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Refused(Exception):
    """Something that user code may not do in a probe; the message is one line."""


def main() -> None:
    """Do the jobs on standard input."""
    order = json.load(sys.stdin)
    report = _private_output()
    _guard()
    _load_own_package()
    sys.path[:] = [
        *order["sys_path"],
        *(path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))),
    ]
    pid = os.getpid()
    for number, job in order["jobs"]:
        emit(report, number, event="start")
        for message in _do(job):
            emit(report, number, **message)
        emit(report, number, event="done")
    report.flush()
    if os.getpid() == pid:
        # Threads and exit hooks of user code have nothing more to say.
        os._exit(0)


def emit(report: TextIO, number: int, **message: Any) -> None:
    """Say one thing about one job."""
    report.write(json.dumps({"job": number, **message}) + "\n")
    report.flush()


def _private_output() -> TextIO:
    """Standard output for us alone: what user code prints, also from C, goes to standard error."""
    report = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    return report


def _guard() -> None:
    """Refuse forks, which would go on in our place, and show where a crash or a hang stands."""

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.fork", "os.forkpty"):
            raise Refused("the probe's process may not be forked")

    sys.addaudithook(audit)
    faulthandler.enable(all_threads=False)
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=False)


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


def _do(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What there is to say about one job."""
    from statelint.probe import frames

    try:
        if (missing := _missing_jax()) is not None:
            yield {"event": "failure", "message": missing, "at": None}
            return
        for probe in _probes(job):
            unset = {name: value for name, value in (probe.env or {}).items() if os.environ.get(name) != value}
            yield {"event": "environment", "env": unset} if unset else _traced(probe)
    except BaseException as error:
        yield {"event": "failure", "message": _said(error), "at": frames.of_error(error)}


def _traced(probe: Any) -> dict[str, Any]:
    from statelint.probe import frames
    from statelint.probe.tracer import trace

    try:
        facts = trace(
            probe.step,
            probe.state,
            probe.args,
            state_args=probe.state_args,
            state_argnum=probe.state_argnum,
            returns=probe.returns,
            x64=probe.x64,
        )
    except BaseException as error:
        return {"event": "failure", "name": probe.name, "message": _said(error), "at": frames.of_error(error)}
    return {"event": "trace", "name": probe.name, "facts": facts}


def _said(error: BaseException) -> str:
    from statelint.probe import frames

    traceback.print_exception(error)
    if isinstance(error, SystemExit):
        return f"the code calls sys.exit({error.code!r})"
    # Our own exceptions are written for the reader; their type adds nothing.
    own = type(error).__module__.startswith("statelint.") or isinstance(error, Refused)
    return str(error) if own else frames.one_line(error)


def _missing_jax() -> str | None:
    """What is wrong with this interpreter's jax, told without importing it: user code may set variables first."""
    if importlib.util.find_spec("jax") is None:
        return f"jax is not installed for {sys.executable}; name the project's interpreter with --python"
    try:
        version = importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        # A jax that no installer put there; whether it will do is seen when it is used.
        return None
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_JAX:
        return f"jax {version} is too old: the probe needs {'.'.join(map(str, OLDEST_JAX))} or newer"
    return None


def _probes(job: dict[str, Any]) -> list[Any]:
    """The probes of a job: those that a file makes at one line, or the one that a table declares."""
    from statelint.probe import declare, loading

    if job["table"] is not None:
        return [loading.from_table(job["table"])]
    sys.argv = [job["file"]]
    module = loading.import_file(job["file"])
    made = [probe for probe in declare.declared if loading.is_declared_at(probe, job["file"], job["line"])]
    if not made:
        raise loading.LoadError("importing the file does not make this probe")
    for probe in made:
        loading.give_name(probe, module, job["name"] if len(made) == 1 else None)
    return made


if __name__ == "__main__":
    main()
