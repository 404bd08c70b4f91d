"""The declared probes: which of them a run is about, and under which interpreter they run."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import msgspec

from statelint.config import Config, ProbeTable
from statelint.diagnostics import Location
from statelint.model.trace import ProbeFailure, ProbeSite, StepTrace
from statelint.options import Options, UsageError
from statelint.source.project import Reading

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


def declared(readings: Iterable[Reading], config: Config) -> list[Declared]:
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


def run(probes: Iterable[Declared], config: Config, options: Options) -> list[Outcome]:
    """Trace these probes; the outcomes are in the order of their declarations."""
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
        python=_interpreter(config, options),
        timeout=config.probe_timeout,
        root=config.root,
        restore=options.restore,
        measure=options.measure,
    )
    return sorted(outcomes, key=_declaration)


def _declaration(outcome: Outcome) -> tuple[str, int, str]:
    return (outcome.probe.at.path, outcome.probe.at.line, outcome.probe.name)


def _arguments(table: ProbeTable) -> dict[str, Any]:
    return {key: value for key, value in msgspec.to_builtins(table).items() if key != "line"}


def _interpreter(config: Config, options: Options) -> str:
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
