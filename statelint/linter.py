"""The one pipeline: paths to files to model to diagnostics to a report."""

from __future__ import annotations

import functools
import io
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
from pathspec import GitIgnoreSpec

from statelint import discovery, findings, rules
from statelint.config import Config, ProbeTable, resolve, shown, unknown_rules
from statelint.diagnostics import Diagnostic, Location, Related
from statelint.model.names import Names
from statelint.model.source import SyntaxFault
from statelint.model.trace import ProbeFailure, ProbeSite, StepTrace
from statelint.report.base import ProbeReport, Report
from statelint.source.project import Project, Reading
from statelint.suppressions import UNUSED, Ignores

NOT_CHECKED = ("SL900", "SL902")
"""The rules that say that something was not checked: they run unless they are ignored by their codes."""

Outcome = StepTrace | ProbeFailure


class UsageError(Exception):
    """What keeps a run from doing its work: one line each."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is asked beyond its configuration.

    Attributes:
        select: rules to run, in place of the configured ones.
        extend_select: rules to run besides.
        ignore: rules not to run besides the configured ones.
        probe: run the declared probes.
        python: the interpreter to run them under, in place of the configured one.
    """

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    probe: bool = True
    python: str | None = None


def rule_names() -> dict[str, str]:
    """The names of all rules by their codes."""
    return {code: module.rule.name for code, module in rules.load().items()}


def run(paths: Sequence[str], config: Config, options: Options) -> Report:
    """Lint these paths; the current folder when there are none.

    Raises:
        UsageError: an option, a path or an interpreter is wrong.
    """
    enabled = _selection(config, options)
    texts = _Texts()
    readings = _read_sources(_find(paths or (".",), config), config, texts)
    sites = _declared(readings, config)
    outcomes = _probe(sites, config, options) if options.probe and sites else []
    paths_shown = _Paths(reading.path for reading in readings)

    scope = _Scope(enabled, config)
    seen = [finding for reading in readings for finding in rules.in_source(reading.parts)]
    traced = [paths_shown.apply(finding) for outcome in outcomes for finding in _judge(outcome, config)]
    merged = findings.confirmed(filter(scope.holds, seen), filter(scope.holds, traced))

    comments = _Comments(texts)
    loud = [finding for finding in merged if not comments.of(finding.location.path).silence(finding)]
    reports = tuple(_probe_report(outcome, paths_shown) for outcome in outcomes)
    idle = _unused(readings, comments, scope, _Probed(reports, asked=options.probe))
    return Report(
        diagnostics=findings.distinct([*findings.dearest(loud), *filter(scope.holds, idle)]),
        files=len(readings),
        unparsed=sum(map(_is_unparsed, readings)),
        probes=reports,
        probes_left=0 if options.probe else len(sites),
        source=texts.lines,
        pages={code: rules.DOCS.format(code=code) for code in rules.load()},
    )


# --- which rules ----------------------------------------------------------------------------------------


def _names(config: Config) -> Names:
    return Names(config.state_names, config.counter_names)


def _selection(config: Config, options: Options) -> frozenset[str]:
    names = rule_names()
    asked = {"--select": options.select, "--extend-select": options.extend_select, "--ignore": options.ignore}
    wrong = [f"{option}: {line}" for option, texts in asked.items() for line in unknown_rules(texts, names)]
    if wrong:
        raise UsageError(wrong)
    selected = options.select or config.select
    default = [] if selected is not None else [code for code, module in rules.load().items() if module.rule.default]
    extended = options.extend_select if options.select else (*config.extend_select, *options.extend_select)
    wanted, unwanted = [*(selected or ()), *extended], [*config.ignore, *options.ignore]
    if not resolve(wanted, unwanted, names, start=default):
        raise UsageError(["no rule is left to run: all that are selected are ignored too"])
    always = [code for code in NOT_CHECKED if code in names]
    return resolve([*wanted, *always], unwanted, names, start=default)


class _Scope:
    """The codes that run in a file: the selected ones without its `per-file-ignores`."""

    def __init__(self, enabled: frozenset[str], config: Config) -> None:
        names = rule_names()
        self._enabled = enabled
        self._root = os.path.realpath(config.root)
        self._ignores = [
            (
                GitIgnoreSpec.from_lines([pattern.removeprefix("!")]),
                pattern.startswith("!"),
                resolve(codes, (), names),
            )
            for pattern, codes in config.per_file_ignores.items()
        ]
        self.of = functools.cache(self._of)

    def _of(self, path: str) -> frozenset[str]:
        if not self._ignores:
            return self._enabled
        relative = os.path.relpath(os.path.realpath(path), self._root)
        ignored = (codes for spec, negated, codes in self._ignores if spec.match_file(relative) != negated)
        return self._enabled.difference(*ignored)

    def holds(self, finding: Diagnostic) -> bool:
        """Whether its rule runs in its file."""
        return finding.code in self.of(finding.location.path)


# --- source ---------------------------------------------------------------------------------------------


class _Texts:
    """The text of files by their paths as shown; those that were not linted are read when asked for."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}
        self.lines = functools.cache(self._lines)

    def learn(self, path: str, text: str | None) -> None:
        self._known[path] = text or ""

    def of(self, path: str) -> str:
        if path not in self._known:
            try:
                with open(path, encoding="utf-8", errors="replace") as stream:
                    self._known[path] = stream.read()
            except OSError:
                self._known[path] = ""
        return self._known[path]

    def _lines(self, path: str) -> list[str]:
        return [line.rstrip("\n") for line in io.StringIO(self.of(path), newline=None)]


def _find(paths: Sequence[str], config: Config) -> tuple[str, ...]:
    exclude = discovery.EXCLUDE if config.exclude is None else config.exclude
    found = discovery.find(
        paths,
        root=config.root,
        exclude=(*exclude, *config.extend_exclude),
        respect_gitignore=config.respect_gitignore,
    )
    if found.errors:
        raise UsageError(found.errors)
    return found.files


def _read_sources(paths: Iterable[str], config: Config, texts: _Texts) -> list[Reading]:
    files: list[tuple[str, bytes]] = []
    errors: list[str] = []
    for path in paths:
        try:
            with open(path, "rb") as stream:
                files.append((path, stream.read()))
        except OSError as error:
            errors.append(f"{path}: cannot be read: {error.strerror}")
    if errors:
        raise UsageError(errors)
    readings = list(Project(_names(config)).read(files))
    for reading in readings:
        texts.learn(reading.path, reading.text)
    return readings


def _is_unparsed(reading: Reading) -> bool:
    return any(isinstance(part, SyntaxFault) for part in reading.parts)


# --- probes ---------------------------------------------------------------------------------------------


def _declared(readings: Iterable[Reading], config: Config) -> list[tuple[ProbeSite, str | None, ProbeTable | None]]:
    """All declared probes: each with the file or with the table that declares it."""
    in_code = [(site, os.path.realpath(reading.path), None) for reading in readings for site in reading.probes]
    in_table = [(ProbeSite(table.name, Location(config.file or "", table.line)), None, table) for table in config.probe]
    return [*in_code, *in_table]


def _probe(
    declared: Iterable[tuple[ProbeSite, str | None, ProbeTable | None]], config: Config, options: Options
) -> list[Outcome]:
    from statelint.probe import client

    jobs = [
        client.Job(site=site, file=file, table=None if table is None else _arguments(table))
        for site, file, table in declared
    ]
    python = _interpreter(config, options)
    outcomes = client.run(jobs, python=python, timeout=config.probe_timeout, root=config.root)
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


def _judge(outcome: Outcome, config: Config) -> Iterator[Diagnostic]:
    """What the rules say of a probe's outcome, with what the configuration calls a state and a counter."""
    return rules.in_trace(outcome.named(_names(config)) if isinstance(outcome, StepTrace) else outcome)


def _probe_report(outcome: Outcome, paths: _Paths) -> ProbeReport:
    at = outcome.probe.at
    executables = outcome.executables if isinstance(outcome, StepTrace) else None
    return ProbeReport(outcome.probe.name, paths.shown(at.path), at.line, executables)


class _Paths:
    """The paths of a trace, which are absolute, as the user wrote them."""

    def __init__(self, written: Iterable[str]) -> None:
        self._written = {os.path.realpath(path): path for path in written}
        self.shown = functools.cache(self._shown)

    def _shown(self, path: str) -> str:
        real = os.path.realpath(path)
        return self._written.get(real) or shown(real)

    def apply(self, finding: Diagnostic) -> Diagnostic:
        """The finding with all its paths as the user wrote them."""
        related = tuple(Related(self._at(other.location), other.message) for other in finding.related)
        return msgspec.structs.replace(finding, location=self._at(finding.location), related=related)

    def _at(self, location: Location) -> Location:
        return msgspec.structs.replace(location, path=self.shown(location.path))


# --- comments -------------------------------------------------------------------------------------------


class _Comments:
    """The silencing comments of files by their paths."""

    def __init__(self, texts: _Texts) -> None:
        self._texts = texts
        self.of = functools.cache(self._of)

    def _of(self, path: str) -> Ignores:
        return Ignores(path, self._texts.of(path), rule_names())


class _Probed:
    """Where a probe's silence means something: not where one failed, and nowhere when all did."""

    def __init__(self, reports: Sequence[ProbeReport], *, asked: bool) -> None:
        self._failed = {report.path for report in reports if report.executables is None}
        self._some = asked and not (reports and all(report.executables is None for report in reports))

    def holds(self, path: str) -> bool:
        return self._some and path not in self._failed


def _unused(readings: Iterable[Reading], comments: _Comments, scope: _Scope, probed: _Probed) -> Iterator[Diagnostic]:
    """What SL901 says of the linted files."""
    modules = {code: module for code, module in rules.load().items() if code != UNUSED}
    default = {code for code, module in modules.items() if module.rule.default}
    for reading in readings:
        ignores = comments.of(reading.path)
        if ignores.comments:
            traced = probed.holds(reading.path)
            able = {code for code, module in modules.items() if traced or module.in_source}
            judged = able & scope.of(reading.path)
            yield from rules.in_source(ignores.unused(judged, complete=traced and default <= judged))
