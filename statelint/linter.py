"""The one pipeline: paths to files to model to diagnostics to a report."""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from pathspec import GitIgnoreSpec

from statelint import baseline, discovery, findings, fixing, probing, rules
from statelint.baseline import Baseline
from statelint.config import Config, shown
from statelint.diagnostics import Diagnostic, Location, Related
from statelint.model.names import Names
from statelint.model.source import SyntaxFault
from statelint.model.trace import LeafTrace, StepTrace
from statelint.options import Options, UsageError
from statelint.probing import Declared, Outcome
from statelint.report.base import ProbeReport, Report
from statelint.selectors import resolve, severities, unknown_rules
from statelint.source.project import Project, Reading
from statelint.suppressions import UNUSED, Ignores


def rule_names() -> dict[str, str]:
    """The names of all rules by their codes."""
    return {code: module.rule.name for code, module in rules.load().items()}


def run(paths: Sequence[str], config: Config, options: Options) -> Report:
    """Lint these paths; the current folder when there are none.

    Raises:
        UsageError: an option, a path or an interpreter is wrong.
    """
    scope = _Scope(config, options)
    known = baseline.load(config, renew=options.renew_baseline)
    texts = _Texts()
    files = read_files(paths, config)
    readings = _read_sources(files, config, texts)
    declared = probing.declared(readings, config)
    asked = probing.asked_for(declared, paths, (path for path, _ in files), config) if options.probe else []
    outcomes = probing.run(asked, config, options) if asked else []
    left = len(declared) - len(asked)
    paths_shown = _Paths(reading.path for reading in readings)

    seen = [each for reading in readings for each in rules.in_source(reading.parts) if scope.holds(each)]
    traced = [paths_shown.apply(finding) for outcome in outcomes for finding in _judge(outcome, config)]
    tenable = findings.unrefuted(seen, _leaves(outcomes, paths_shown))
    merged = findings.confirmed(tenable, filter(scope.holds, traced))

    comments = _Comments(texts)
    for finding in seen:
        comments.silence(finding)  # a comment on what a probe refutes has its use where no probe runs
    silenced = [finding for finding in merged if comments.silence(finding)]
    loud = [finding for finding in findings.dearest(merged) if not (silenced and comments.silence(finding))]
    reports = tuple(_probe_report(outcome, paths_shown) for outcome in outcomes)
    probed = _Probed(reports, all_ran=not left)
    idle = _unused(readings, comments, scope, probed)
    found = findings.distinct(map(scope.weighed, [*loud, *filter(scope.holds, idle)]))
    is_complete = not left and all(report.executables is not None for report in reports)
    judged = _judged(readings, scope, is_complete=is_complete)
    if options.renew_baseline:
        known = _renewed(known, found, judged)
    remaining = tuple(known.beyond(found))
    return Report(
        diagnostics=remaining,
        hidden=len(found) - len(remaining),
        stale=known.stale(found, judged),
        files=len(readings),
        unparsed=sum(map(_is_unparsed, readings)),
        probes=reports,
        probes_left=left,
        source=texts.lines,
        pages={code: rules.DOCS.format(code=code) for code in rules.load()},
        edits=fixing.Editor(files).edits,
    )


def source_findings(files: Sequence[tuple[str, bytes]], config: Config, options: Options) -> list[Diagnostic]:
    """What is to be said of these files, given by path and content, as far as the source shows it."""
    scope, texts = _Scope(config, options), _Texts()
    comments = _Comments(texts)
    seen = (finding for reading in _read_sources(files, config, texts) for finding in rules.in_source(reading.parts))
    loud = [finding for finding in seen if scope.holds(finding) and not comments.silence(finding)]
    return baseline.load(config).beyond(findings.distinct(loud))


def run_probes(declared: Sequence[Declared], config: Config, options: Options) -> Report:
    """Run these probes, and nothing else: what the source shows of the same files is left out."""
    scope, comments = _Scope(config, options), _Comments(texts := _Texts())
    outcomes = probing.run(declared, config, options)
    paths = _Paths(())
    traced = [paths.apply(finding) for outcome in outcomes for finding in _judge(outcome, config)]
    held = findings.dearest(list(filter(scope.holds, traced)))
    loud = [finding for finding in held if not comments.silence(finding)]
    return Report(
        diagnostics=tuple(baseline.load(config).beyond(findings.distinct(map(scope.weighed, loud)))),
        files=0,
        probes=tuple(_probe_report(outcome, paths) for outcome in outcomes),
        source=texts.lines,
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
    if not wanted and not default:
        raise UsageError([f"{config.file}: select: no rule is selected"])
    if not resolve(wanted, unwanted, names, start=default):
        raise UsageError(["no rule is left to run: all that are selected are ignored too"])
    # What says that something was not checked runs unless it is ignored by its code.
    always = [code for code in baseline.NOT_CHECKED if code in names]
    return resolve([*wanted, *always], unwanted, names, start=default)


class _Scope:
    """The codes that run in a file: the selected ones without its `per-file-ignores`."""

    def __init__(self, config: Config, options: Options) -> None:
        names = rule_names()
        self._enabled = _selection(config, options)
        self._severities = severities(config.severity, names)
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

    def weighed(self, finding: Diagnostic) -> Diagnostic:
        """With the severity that the configuration gives to its rule."""
        severity = self._severities.get(finding.code, finding.severity)
        return msgspec.structs.replace(finding, severity=severity)


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


def find_files(paths: Sequence[str], config: Config) -> tuple[str, ...]:
    """The files under these paths that the configuration leaves in.

    Raises:
        UsageError: a path is wrong.
    """
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


def read_files(paths: Sequence[str], config: Config) -> list[tuple[str, bytes]]:
    """The files under these paths, or under the current folder, with their content.

    Raises:
        UsageError: a path is wrong, or a file cannot be read.
    """
    files: list[tuple[str, bytes]] = []
    errors: list[str] = []
    for path in find_files(paths or (".",), config):
        try:
            with open(path, "rb") as stream:
                files.append((path, stream.read()))
        except OSError as error:
            errors.append(f"{path}: cannot be read: {error.strerror}")
    if errors:
        raise UsageError(errors)
    return files


def _read_sources(files: Sequence[tuple[str, bytes]], config: Config, texts: _Texts) -> list[Reading]:
    readings = list(Project(_names(config)).read(files))
    for reading in readings:
        texts.learn(reading.path, reading.text)
    return readings


def _is_unparsed(reading: Reading) -> bool:
    return any(isinstance(part, SyntaxFault) for part in reading.parts)


# --- probes ---------------------------------------------------------------------------------------------


def _judge(outcome: Outcome, config: Config) -> Iterator[Diagnostic]:
    """What the rules say of a probe's outcome, with what the configuration calls a state and a counter."""
    return rules.in_trace(outcome.named(_names(config)) if isinstance(outcome, StepTrace) else outcome)


def _leaves(outcomes: Iterable[Outcome], paths: _Paths) -> Iterator[LeafTrace]:
    """The leaves that the probes saw, with their places as findings give them."""
    for outcome in outcomes:
        for leaf in outcome.leaves if isinstance(outcome, StepTrace) else ():
            yield msgspec.structs.replace(leaf, placed=leaf.placed and paths.at(leaf.placed))


def _probe_report(outcome: Outcome, paths: _Paths) -> ProbeReport:
    at = outcome.probe.at
    executables, measured = (outcome.executables, outcome.measured) if isinstance(outcome, StepTrace) else (None, None)
    return ProbeReport(outcome.probe.name, paths.shown(at.path), at.line, executables, measured)


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
        related = tuple(Related(self.at(other.location), other.message) for other in finding.related)
        return msgspec.structs.replace(finding, location=self.at(finding.location), related=related)

    def at(self, location: Location) -> Location:
        """A place with its path as the user wrote it."""
        return msgspec.structs.replace(location, path=self.shown(location.path))


# --- comments -------------------------------------------------------------------------------------------


class _Comments:
    """The silencing comments of files by their paths."""

    def __init__(self, texts: _Texts) -> None:
        self._texts = texts
        self.of = functools.cache(self._of)

    def silence(self, finding: Diagnostic) -> bool:
        """Whether a comment of its file silences a finding."""
        return self.of(finding.location.path).silence(finding)

    def _of(self, path: str) -> Ignores:
        return Ignores(path, self._texts.of(path), rule_names())


class _Probed:
    """Where a probe's silence means something: not where one failed, and nowhere when all did or one did not run."""

    def __init__(self, reports: Sequence[ProbeReport], *, all_ran: bool) -> None:
        self._failed = {report.path for report in reports if report.executables is None}
        self._some = all_ran and not (reports and all(report.executables is None for report in reports))

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
            # What a probe that did not run may see cannot be judged.
            able = {code for code, module in modules.items() if traced or not module.in_trace}
            judged = able & scope.of(reading.path)
            yield from rules.in_source(ignores.unused(judged, complete=traced and default <= judged))


# --- baseline -------------------------------------------------------------------------------------------


def _judged(readings: Iterable[Reading], scope: _Scope, *, is_complete: bool) -> baseline.Judged:
    """Which files and codes this run has judged; when some probe did not run, no code that a probe may find."""
    linted = {os.path.realpath(reading.path) for reading in readings}

    def judged(path: str, code: str) -> bool:
        module = rules.load().get(code)
        if module is None:
            return True
        return os.path.realpath(path) in linted and code in scope.of(path) and (is_complete or not module.in_trace)

    return judged


def _renewed(known: Baseline, found: Iterable[Diagnostic], judged: baseline.Judged) -> Baseline:
    """The baseline with today's findings, written to its file."""
    renewed = known.renewed(found, judged)
    try:
        renewed.write()
    except OSError as error:
        raise UsageError([f"{shown(known.file)}: cannot be written: {error.strerror}"]) from None
    return renewed
