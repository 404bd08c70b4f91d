"""What the worker does for one job: imports what a probe names, traces it, and says what came of it.

Standard library only, and jax once a probe needs it: this runs under the project's interpreter.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib.metadata
import importlib.util
import itertools
import math
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from typing import Any

from statelint.probe import declare, frames, loading

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
LONGEST = 64 * 2**10
"""Characters of a traceback that are told."""
RECURSION = 1000
"""Calls that our own words of a failure may need."""
DEFAULTS = {
    "jax_enable_x64": False,
    "jax_default_matmul_precision": None,
    "jax_default_prng_impl": "threefry2x32",
    "jax_disable_jit": False,
    "jax_numpy_dtype_promotion": "standard",
    "jax_numpy_rank_promotion": "allow",
}
"""What a step is traced under: settings that one file may change, and that another must not meet changed."""


_FILTERED = "JAX has removed its internal frames from the traceback"


class Refused(Exception):
    """Something that user code may not do in a probe; the message is one line."""


def guard() -> None:
    """Refuse forks, which would go on in our place, and show where a crash or a hang stands."""

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event in ("os.fork", "os.forkpty"):
            raise Refused("the probe's process may not be forked")

    sys.addaudithook(audit)
    faulthandler.enable(all_threads=False)
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, all_threads=False)


def environment() -> dict[str, str]:
    """The variables that jax reads, as they are now."""
    return {name: value for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_"))}


def is_spoiled(before: dict[str, str]) -> bool:
    """Whether the code that ran so far has changed what jax traces under, for whatever comes next, too."""
    config = getattr(sys.modules.get("jax"), "config", None)
    changed = (
        getattr(config, name, default) != default for name, default in DEFAULTS.items() if name.upper() not in before
    )
    return any(changed) or environment() != before


def home(job: dict[str, Any]) -> str:
    """The file or module that a job runs."""
    name: str = job["file"] or job["reference"] or job["table"]["step"]
    return name if job["file"] else name.partition(":")[0]


def imported() -> set[str]:
    """The files of all modules that are imported."""
    files = set()
    for module in list(sys.modules.values()):
        # A lazy module would be loaded by any other way to ask it.
        with contextlib.suppress(AttributeError):
            files.add(object.__getattribute__(module, "__dict__").get("__file__"))
    return {file for file in files if isinstance(file, str)}


def jax_version() -> str:
    """Of the jax that is imported; empty where none is."""
    return str(getattr(sys.modules.get("jax"), "__version__", ""))


def do(job: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What there is to say about one job."""
    try:
        if (missing := _missing_jax()) is not None:
            yield {"event": "failure", "message": missing, "at": None, "sure": True}
            return
        for probe in _probes(job):
            wanted = {**(probe.env or {}), **_devices(probe)}
            unset = {name: value for name, value in wanted.items() if os.environ.get(name) != value}
            yield {"event": "environment", "env": unset} if unset else _traced(probe, job)
    except BaseException as error:
        yield {"event": "failure", **_failure(error)}


def _devices(probe: Any) -> dict[str, str]:
    """The flags that give the CPU as many devices as the probe's mesh has; they are read when jax first looks."""
    if probe.mesh is None:
        return {}
    count = probe.mesh if isinstance(probe.mesh, int) else math.prod(probe.mesh.values())
    flags = (probe.env or {}).get("XLA_FLAGS", os.environ.get("XLA_FLAGS", "")).split()
    others = [flag for flag in flags if not flag.startswith("--xla_force_host_platform_device_count=")]
    return {"XLA_FLAGS": " ".join([*others, f"--xla_force_host_platform_device_count={count}"])}


def _traced(probe: Any, job: dict[str, Any]) -> dict[str, Any]:
    try:
        from statelint.probe.tracer import trace

        options = {name: getattr(probe, name) for name in OPTIONS}
        asked = {name: job[name] for name in ("restore", "compile", "measure")}
        facts = trace(probe.step, probe.state, probe.args, **options, **asked)
    except BaseException as error:
        return {"event": "failure", "name": probe.name, "site": probe.site, **_failure(error)}
    return {"event": "trace", "name": probe.name, "site": probe.site, "facts": facts}


def _failure(error: BaseException) -> dict[str, Any]:
    """What there is to say of an error, as far as its own class and what user code did to Python let us."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), RECURSION))
    failure: dict[str, Any] = {"message": type(error).__name__, "at": None, "traceback": "", "sure": False}
    try:
        failure["message"] = _said(error)
        failure["at"] = frames.of_error(error)
        failure["sure"] = isinstance(error, ModuleNotFoundError | SyntaxError | loading.LoadError)
        failure["traceback"] = _traceback(error)[-LONGEST:]
    except BaseException as another:
        # It, too, has the user's line.
        with contextlib.suppress(BaseException):
            failure["at"] = failure["at"] or frames.of_error(another)
    return failure


def _traceback(error: BaseException) -> str:
    """From the user's first frame on, without ours; the error alone where there is no frame of the user's."""
    told = traceback.TracebackException.from_exception(error)
    are_users = [_cut(each) for each in _chain(told)]
    lines = told.format() if any(are_users) else told.format_exception_only()
    return frames.without_ours("".join(lines))


def _chain(told: traceback.TracebackException | None) -> Iterator[traceback.TracebackException]:
    """It, and all that are told with it."""
    if told is not None:
        yield told
        for other in (told.__cause__, told.__context__, *(told.exceptions or ())):
            yield from _chain(other)


def _cut(told: traceback.TracebackException) -> bool:
    """Leave out what is not about the user's code: whether anything is left."""
    behind = itertools.dropwhile(lambda frame: not frames.is_users(frame.filename), told.stack)
    kept = [frame for frame in behind if not frames.is_ours(frame.filename)]
    told.__notes__ = [note for note in told.__notes__ or () if _FILTERED not in note]
    # No head is written over a stack that is not there.
    told.stack = traceback.StackSummary.from_list(kept) if kept else None  # type: ignore[assignment]
    return bool(kept)


def _said(error: BaseException) -> str:
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
