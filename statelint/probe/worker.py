"""The child process: imports what probes name, traces it, and prints the facts as JSON lines.

Runs as a script under the project's interpreter, with the standard library, jax and this package's own files
only. It is given one JSON object, on the first line of standard input, and says on its own standard output, one
object a line:

    {"job": 0, "event": "start"}
    {"job": 0, "event": "trace", "name": ..., "site": [path, line], "facts": {...}}
    {"job": 0, "event": "failure", "name": ..., "at": {...} or null, "message": "..."}
    {"job": 0, "event": "environment", "env": {...}}        the probe asks for variables that are not set
    {"job": 0, "event": "done"}
    {"job": 1, "event": "spoiled"}        an earlier file changed what this one would be traced under; start anew

What user code prints goes to standard error. Standard input stays open as long as the client lives.
"""

from __future__ import annotations

import faulthandler
import importlib.metadata
import importlib.util
import json
import math
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any, TextIO

OLDEST_JAX = (0, 5)
OPTIONS = (
    "state_args",
    "state_argnum",
    "state_returns",
    "returns",
    "donate",
    "static_argnames",
    "x64",
    "mesh",
)
"""The attributes of a probe that the tracer takes by these names."""
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


OLDEST_PYTHON = (3, 11)
DEFAULTS = {
    "jax_enable_x64": False,
    "jax_default_matmul_precision": None,
    "jax_default_prng_impl": "threefry2x32",
    "jax_disable_jit": False,
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
}
"""What a step is traced under: settings that one file may change, and that another must not meet changed."""


class Refused(Exception):
    """Something that user code may not do in a probe; the message is one line."""


def main() -> None:
    """Do the jobs on standard input."""
    if sys.version_info < OLDEST_PYTHON:
        sys.exit(f"probes need Python {OLDEST_PYTHON[0]}.{OLDEST_PYTHON[1]} or newer")
    order = json.loads(sys.stdin.buffer.readline())
    _die_with(os.dup(0))
    report = _private_output()
    _guard()
    _load_own_package()
    sys.path[:] = [
        *order["sys_path"],
        *(path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))),
    ]
    root, file, environment = os.getcwd(), None, _environment()
    for number, job in order["jobs"]:
        if file not in (None, job["file"]) and _is_spoiled(environment):
            emit(report, number, event="spoiled")
            break
        file = job["file"]
        os.chdir(root)
        emit(report, number, event="start")
        for message in _do(job):
            emit(report, number, **message)
        emit(report, number, event="done")
    report.flush()
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


def _die_with(client: int) -> None:
    """End this process and all that it started when the client is gone, however it went: its pipe is closed then."""

    def watch() -> None:
        os.read(client, 1)
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _environment() -> dict[str, str]:
    """The variables that jax reads."""
    return {name: value for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_"))}


def _is_spoiled(environment: dict[str, str]) -> bool:
    """Whether the code that ran so far has changed what jax traces under, for whatever comes next, too."""
    config = getattr(sys.modules.get("jax"), "config", None)
    changed = (
        getattr(config, name, default) != default
        for name, default in DEFAULTS.items()
        if name.upper() not in environment
    )
    return any(changed) or _environment() != environment


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
            wanted = {**(probe.env or {}), **_devices(probe)}
            unset = {name: value for name, value in wanted.items() if os.environ.get(name) != value}
            yield {"event": "environment", "env": unset} if unset else _traced(probe, job)
    except BaseException as error:
        yield {"event": "failure", "message": _said(error), "at": frames.of_error(error)}


def _devices(probe: Any) -> dict[str, str]:
    """The flags that give the CPU as many devices as the probe's mesh has; they are read when jax first looks."""
    if probe.mesh is None:
        return {}
    count = probe.mesh if isinstance(probe.mesh, int) else math.prod(probe.mesh.values())
    flags = (probe.env or {}).get("XLA_FLAGS", os.environ.get("XLA_FLAGS", "")).split()
    others = [flag for flag in flags if not flag.startswith("--xla_force_host_platform_device_count=")]
    return {"XLA_FLAGS": " ".join([*others, f"--xla_force_host_platform_device_count={count}"])}


def _traced(probe: Any, job: dict[str, Any]) -> dict[str, Any]:
    from statelint.probe import frames
    from statelint.probe.tracer import trace

    try:
        options = {name: getattr(probe, name) for name in OPTIONS}
        facts = trace(probe.step, probe.state, probe.args, **options, restore=job["restore"], measure=job["measure"])
    except BaseException as error:
        failure = {"message": _said(error), "at": frames.of_error(error)}
        return {"event": "failure", "name": probe.name, "site": probe.site, **failure}
    return {"event": "trace", "name": probe.name, "site": probe.site, "facts": facts}


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
    """The probes of a job: those that a file makes at one line, the one that a table declares or that has a name."""
    from statelint.probe import declare, loading

    if job["table"] is not None:
        return [loading.from_table(job["table"])]
    if job["reference"] is not None:
        return [loading.probe_named(job["reference"])]
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
