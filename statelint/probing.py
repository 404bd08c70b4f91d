"""The declared probes: which of them a run is about, and under which interpreter they run."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from statelint import cache
from statelint.cache import Cache
from statelint.config import Config, ProbeTable
from statelint.diagnostics import Location
from statelint.model.trace import ProbeFailure, ProbeSite, StepTrace
from statelint.options import Options, UsageError
from statelint.progress import SILENT, Progress
from statelint.reading import FileReport

Outcome = StepTrace | ProbeFailure


class Declared(msgspec.Struct, frozen=True):
    """A declared probe.

    Attributes:
        file: what declares it in code.
        table: what declares it in the configuration.
        reference: the object that is one, as `module:name`.
    """

    site: ProbeSite
    file: str | None = None
    table: ProbeTable | None = None
    reference: str | None = None


def declared(readings: Iterable[FileReport], config: Config) -> list[Declared]:
    """All probes that the linted files and the configuration declare."""
    in_code = [Declared(site, file=os.path.realpath(reading.path)) for reading in readings for site in reading.probes]
    in_table = [
        Declared(ProbeSite(table.name, Location(config.file or "", table.line)), table=table) for table in config.probe
    ]
    return [*in_code, *in_table]


def asked_for(probes: Iterable[Declared], paths: Sequence[str], files: Iterable[str], config: Config) -> list[Declared]:
    """The probes that a run over these paths, and the files found there, is about.

    One in code stands in a linted file. One of the configuration is meant when all of its folder is linted, or the
    file of its step's or its state's module.
    """
    root = os.path.realpath(config.root)
    folders = [os.path.join(os.path.realpath(path), "") for path in paths or (".",)]
    everything = not paths or any(os.path.join(root, "").startswith(folder) for folder in folders)
    linted = {os.path.realpath(file) for file in files}
    return [probe for probe in probes if probe.table is None or everything or _is_of(probe.table, root, linted)]


def _is_of(table: ProbeTable, root: str, files: Collection[str]) -> bool:
    """Whether one of these files is the module of the probe's step or state."""
    modules = {named.partition(":")[0] for named in (table.step, table.state)}
    return any(path in files for module in modules for path in _places(module, root))


def _places(module: str, root: str) -> Iterable[str]:
    """Where a module of the project may stand: the worker looks for it in the same folders."""
    for folder in (root, os.path.join(root, "src")):
        path = os.path.join(folder, *module.split("."))
        yield os.path.realpath(f"{path}.py")
        yield os.path.realpath(os.path.join(path, "__init__.py"))


def run(probes: Sequence[Declared], config: Config, options: Options, progress: Progress = SILENT) -> list[Outcome]:
    """The outcomes of these probes, in the order of their declarations: those known from earlier runs, and new ones."""
    python = interpreter(config, options)
    known: Cache[tuple[StepTrace, ...]] = Cache(tuple[StepTrace, ...], _file_of_cache(config, options))
    settings = (python, config.root, options.restore, options.compile, _environment())
    together: dict[str, list[Declared]] = defaultdict(list)
    for probe in probes:
        together[_key(probe.site)].append(probe)
    traces = known.known(
        (key, repr((group, settings)).encode("utf-8", "backslashreplace")) for key, group in together.items()
    )
    # All of a file or none: what its import prints belongs to the first that is traced.
    anew = {probe.file or key for key, group in together.items() if key not in traces for probe in group}
    unknown = [probe for key, group in together.items() for probe in group if (probe.file or key) in anew]
    began = time.time_ns()
    outcomes = _trace(unknown, python, config, options, progress) if unknown else []
    fresh: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        fresh[_key(outcome.probe)].append(outcome)
    _keep(known, fresh, python, began)
    found = [*outcomes, *(trace for key, group in traces.items() if key not in fresh for trace in group)]
    return sorted(found, key=_declaration)


def _key(site: ProbeSite) -> str:
    """What the cache knows the probes of a line by."""
    return f"{os.path.realpath(site.at.path)}{cache.BEYOND}{site.at.line}"


def _file_of_cache(config: Config, options: Options) -> str | None:
    """Where traces are kept; what is to be measured is measured each time."""
    folder = cache.folder_of(config.root, options.cache_dir)
    return cache.file_in(folder, "probe", None) if options.cache and not options.measure else None


def _environment() -> list[tuple[str, str]]:
    """The variables that change what is traced."""
    return sorted((name, value) for name, value in os.environ.items() if name.startswith(("JAX_", "XLA_", "PYTHON")))


def _keep(known: Cache[tuple[StepTrace, ...]], fresh: Mapping[str, Sequence[Outcome]], python: str, began: int) -> None:
    """What failed is tried again each time; what was traced holds until a file that was imported for it changes, or
    another module comes to stand beside one. When a file changed meanwhile, nobody knows which of it was imported.
    """
    traces = {
        key: tuple(trace for trace in group if isinstance(trace, StepTrace))
        for key, group in fresh.items()
        if all(isinstance(outcome, StepTrace) for outcome in group)
    }
    files = {
        key: {python, key.partition(cache.BEYOND)[0]}.union(*(trace.imported for trace in group))
        for key, group in traces.items()
    }
    traces = {key: group for key, group in traces.items() if not any(_changed(path, began) for path in files[key])}
    looked_at = {
        key: files[key] | {os.path.join(os.path.dirname(path), "") for path in files[key] - {python}} for key in traces
    }
    bare = {key: tuple(msgspec.structs.replace(trace, imported=()) for trace in group) for key, group in traces.items()}
    known.learn(bare, looked_at, {})


def _changed(path: str, since: int) -> bool:
    try:
        status = os.stat(path)  # what is moved or unpacked there keeps the time at which it was written
        return max(status.st_mtime_ns, status.st_ctime_ns) >= since
    except OSError:
        return True


def _trace(
    probes: Sequence[Declared], python: str, config: Config, options: Options, progress: Progress
) -> list[Outcome]:
    from statelint.probe import client

    jobs = [
        client.Job(
            site=probe.site,
            file=probe.file,
            table=None if probe.table is None else _arguments(probe.table),
            reference=probe.reference,
        )
        for probe in probes
    ]
    outcomes = client.run(
        jobs,
        python=python,
        timeout=config.probe_timeout,
        memory=config.probe_memory,
        root=config.root,
        restore=options.restore,
        compile=options.compile,
        measure=options.measure,
        progress=progress,
    )
    return list(outcomes)


def _declaration(outcome: Outcome) -> tuple[str, int, str]:
    return (outcome.probe.at.path, outcome.probe.at.line, outcome.probe.name)


def _arguments(table: ProbeTable) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(table).items() if key != "line"}


def interpreter(config: Config, options: Options) -> str:
    """The Python for the probes: asked for, configured, of the active virtual environment, or our own."""
    if options.python is not None:
        return _executable(options.python, "--python")
    if config.python is not None:
        path = os.path.join(config.root, config.python) if os.sep in config.python else config.python
        return _executable(path, f"{config.file}: python")
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        folder = os.path.join(active, "Scripts" if os.name == "nt" else "bin")
        return shutil.which("python", path=folder) or sys.executable
    return sys.executable


def _executable(command: str, said_by: str) -> str:
    found = shutil.which(command)
    if found is None:
        raise UsageError([f"{said_by}: {command} is not an executable file"])
    return os.path.abspath(found)
