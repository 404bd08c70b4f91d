"""The one pipeline: paths to files to model to diagnostics to a report."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from statelint import baseline, findings, probing, rules
from statelint.baseline import Baseline
from statelint.config import Config, shown
from statelint.diagnostics import Diagnostic, Edit, Location, Related
from statelint.inputs import Comments, Texts, read_files, read_paths, read_sources
from statelint.model.trace import LeafTrace, StepTrace
from statelint.options import Options, UsageError
from statelint.probing import Declared, Outcome
from statelint.progress import SILENT, Progress
from statelint.reading import FileReport
from statelint.report.base import ProbeReport, Report, RuleText
from statelint.scope import Scope
from statelint.suppressions import UNUSED

if TYPE_CHECKING:
    from statelint.fixing import Editor


def _rule_texts() -> tuple[RuleText, ...]:
    return tuple(
        RuleText(code, module.rule.name, module.rule.severity, module.summary, module.page)
        for code, module in rules.load().items()
    )


def run(paths: Sequence[str], config: Config, options: Options, progress: Progress = SILENT) -> Report:
    """Lint these paths; the current folder when there are none.

    Raises:
        UsageError: an option, a path or an interpreter is wrong.
    """
    scope = Scope(config, options)
    known = baseline.load(config, renew=options.renew_baseline)
    files, faults = read_files(paths, config, options.buffer)
    texts = Texts(files)
    unread = [FileReport(fault.at.path, tuple(rules.in_source([fault])), parsed=False) for fault in faults]
    readings = [*read_sources(files, config, options, progress), *unread]
    declared = probing.declared(readings, config)
    asked = probing.asked_for(declared, paths, (path for path, _ in files), config) if options.probe else []
    outcomes = probing.run(asked, config, options, progress) if asked else []
    left = len(declared) - len(asked)
    paths_shown = _Paths(report.path for report in readings)

    seen = [each for report in readings for each in report.findings if scope.holds(each)]
    traced = [paths_shown.apply(finding) for outcome in outcomes for finding in _judge(outcome, config)]
    tenable = findings.unrefuted(seen, _leaves(outcomes, paths_shown))
    merged = findings.confirmed(tenable, filter(scope.holds, traced))

    comments = Comments(texts, readings)
    for finding in seen:
        comments.silence(finding)  # a comment on what a probe refutes has its use where no probe runs
    silenced = [finding for finding in merged if comments.silence(finding)]
    # A comment written where no probe ran is about a part of what a probe says of the same leaf.
    loud = [
        finding
        for finding in findings.dearest(merged)
        if not (silenced and any(map(comments.silence, (finding, *finding.parts))))
    ]
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
        unparsed=sum(not report.parsed for report in readings),
        paths={report.path: report.parsed for report in readings},
        screened=sum(report.screened for report in readings),
        probes=reports,
        probes_left=left,
        elsewhere=options.probe,
        source=texts.lines,
        pages={code: rules.DOCS.format(code=code) for code in rules.load()},
        rules=_rule_texts,
        edits=_editor(files),
    )


def source_findings(
    files: Sequence[tuple[str, bytes]], config: Config, options: Options, progress: Progress = SILENT
) -> list[Diagnostic]:
    """What is to be said of these files, given by path and content, as far as the source shows it."""
    readings = read_sources(files, config, options, progress)
    scope, comments = Scope(config, options), Comments(Texts(files), readings)
    seen = (finding for report in readings for finding in report.findings)
    loud = [finding for finding in seen if scope.holds(finding) and not comments.silence(finding)]
    idle = filter(scope.holds, _unused(readings, comments, scope, _Probed((), all_ran=False)))
    return baseline.load(config).beyond(findings.distinct([*loud, *idle]))


def run_probes(declared: Sequence[Declared], config: Config, options: Options) -> Report:
    """Run these probes, and nothing else: the source says where their findings stand and how to mend them, no more."""
    scope = Scope(config, options)
    outcomes = probing.run(declared, config, options)
    paths = _Paths(())
    traced = [paths.apply(finding) for outcome in outcomes for finding in _judge(outcome, config)]
    held = list(filter(scope.holds, traced))
    files = read_paths(sorted({finding.location.path for finding in held})).read
    readings = read_sources(files, config, options)
    comments = Comments(texts := Texts(files), readings)
    seen = (each for report in readings for each in report.findings if scope.holds(each))
    merged = findings.dearest(findings.confirmed(seen, held))
    loud = [each for each in merged if each.detector != "source" and not comments.silence(each)]
    return Report(
        diagnostics=tuple(baseline.load(config).beyond(findings.distinct(map(scope.weighed, loud)))),
        files=0,
        probes=tuple(_probe_report(outcome, paths) for outcome in outcomes),
        source=texts.lines,
    )


def _editor(files: Sequence[tuple[str, bytes]]) -> Callable[[Diagnostic], Sequence[Edit]]:
    """What gives the edits of a finding. Few runs ask for any, and it takes much to read a file for them."""

    @functools.cache
    def editor() -> Editor:
        from statelint import fixing

        return fixing.Editor(files)

    return lambda finding: editor().edits(finding)


# --- probes ---------------------------------------------------------------------------------------------


def _judge(outcome: Outcome, config: Config) -> Iterator[Diagnostic]:
    """What the rules say of a probe's outcome, with what the configuration calls a state and a counter."""
    return rules.in_trace(outcome.named(config.names) if isinstance(outcome, StepTrace) else outcome)


def _leaves(outcomes: Iterable[Outcome], paths: _Paths) -> Iterator[LeafTrace]:
    """The leaves that the probes saw, with their places as findings give them."""
    for outcome in outcomes:
        for leaf in outcome.leaves if isinstance(outcome, StepTrace) else ():
            yield msgspec.structs.replace(leaf, placed=leaf.placed and paths.at(leaf.placed))


def _probe_report(outcome: Outcome, paths: _Paths) -> ProbeReport:
    at = outcome.probe.at
    donation = outcome.compiled_donation if isinstance(outcome, StepTrace) else None
    executables, measured = (outcome.executables, outcome.measured) if isinstance(outcome, StepTrace) else (None, None)
    return ProbeReport(
        outcome.probe.name, paths.shown(at.path), at.line, executables, measured, outcome.printed, donation
    )


class _Paths:
    """The paths of a trace, which are absolute, as the user wrote them."""

    def __init__(self, written: Iterable[str]) -> None:
        self._paths = tuple(written)
        self.shown = functools.cache(self._shown)

    @functools.cached_property
    def _written(self) -> dict[str, str]:
        return {os.path.realpath(path): path for path in self._paths}

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


class _Probed:
    """Where a probe's silence means something: not where one failed, and nowhere when all did or one did not run."""

    def __init__(self, reports: Sequence[ProbeReport], *, all_ran: bool) -> None:
        self._failed = {report.path for report in reports if report.executables is None}
        self._some = all_ran and not (reports and all(report.executables is None for report in reports))

    def holds(self, path: str) -> bool:
        return self._some and path not in self._failed


def _unused(readings: Iterable[FileReport], comments: Comments, scope: Scope, probed: _Probed) -> Iterator[Diagnostic]:
    """What SL901 says of the linted files."""
    modules = {code: module for code, module in rules.load().items() if code != UNUSED}
    told_by_probes = {code for code, module in modules.items() if module.in_trace}
    default = {code for code, module in modules.items() if module.rule.default}
    for report in readings:
        if report.comments:
            ignores = comments.of(report.path)
            traced = probed.holds(report.path)
            # What a probe that did not run may see cannot be judged.
            able = {code for code, module in modules.items() if traced or not module.in_trace}
            judged = able & scope.of(report.path)
            for comment in ignores.unused(judged, complete=traced and default <= judged):
                is_sure = bool(comment.codes) and told_by_probes.isdisjoint(comment.codes)
                yield from rules.in_source([comments.removed(comment) if is_sure else comment])


# --- baseline -------------------------------------------------------------------------------------------


def _judged(readings: Sequence[FileReport], scope: Scope, *, is_complete: bool) -> baseline.Judged:
    """Which files and codes this run has judged; when some probe did not run, no code that a probe may find."""

    @functools.cache
    def linted() -> set[str]:
        return {os.path.realpath(report.path) for report in readings}

    def judged(path: str, code: str) -> bool:
        module = rules.load().get(code)
        if module is None:
            return True
        return os.path.realpath(path) in linted() and code in scope.of(path) and (is_complete or not module.in_trace)

    return judged


def _renewed(known: Baseline, found: Iterable[Diagnostic], judged: baseline.Judged) -> Baseline:
    """The baseline with today's findings, written to its file."""
    renewed = known.renewed(found, judged)
    try:
        renewed.write()
    except OSError as error:
        raise UsageError([f"{shown(known.file)}: cannot be written: {error.strerror}"]) from None
    return renewed
