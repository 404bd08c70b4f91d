"""What is reported, and how it is to look."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from statelint.diagnostics import Diagnostic, Edit, Severity
from statelint.model.costs import CompiledDonation, Executables
from statelint.model.wording import brief


class ProbeReport(msgspec.Struct, frozen=True):
    """A probe of the run: where it is declared, and what it costs; ``executables`` is None when it failed, and
    ``measured`` and ``donation``, which the compiled program tells, when nobody asked for them. ``printed`` is what
    the project's code printed, and the traceback.
    """

    name: str
    path: str
    line: int
    executables: Executables | None = None
    measured: Executables | None = None
    printed: str = ""
    donation: CompiledDonation | None = None


class RuleText(msgspec.Struct, frozen=True):
    """A rule as reports explain it: ``page`` is Markdown, and ``summary`` its first sentence."""

    code: str
    name: str
    severity: Severity
    summary: str
    page: str


class Fixed(msgspec.Struct, frozen=True):
    """How many findings were fixed, in how many files; ``uncovered`` are those that other fixes brought to light."""

    findings: int
    files: int
    uncovered: int = 0

    def __str__(self) -> str:
        new = f", {self.uncovered} of them uncovered by the others" if self.uncovered else ""
        return f"{counted(self.findings, 'finding')} in {counted(self.files, 'file')}{new}"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a run.

    Attributes:
        diagnostics: sorted by place.
        files: how many were read.
        unparsed: how many of these are not Python, so that they were not checked.
        paths: these files by their paths as shown, each with whether it was checked.
        screened: how many do not mention JAX and were not parsed, since there are many of them.
        probes: those that ran, well or not.
        probes_left: how many declared probes were not to run.
        elsewhere: these are probes of other files, in a run that does run probes.
        hidden: how many findings the baseline hides.
        stale: how many findings the baseline holds that are gone.
        fixed: what fixes were made before this run.
        source: the lines of a file by its path as shown, without their ends; empty when it cannot be read.
        pages: the documentation page of every rule by its code.
        rules: all rules.
        edits: what the fix of a finding writes, with all modules by the names that the file calls them.
        exit_code: what the run ends with; None while nobody has said.
    """

    diagnostics: tuple[Diagnostic, ...]
    files: int
    unparsed: int = 0
    screened: int = 0
    paths: Mapping[str, bool] = {}
    probes: tuple[ProbeReport, ...] = ()
    probes_left: int = 0
    elsewhere: bool = False
    hidden: int = 0
    stale: int = 0
    fixed: Fixed | None = None
    source: Callable[[str], Sequence[str]] = lambda path: ()
    pages: Mapping[str, str] = {}
    rules: Callable[[], Sequence[RuleText]] = tuple
    edits: Callable[[Diagnostic], Sequence[Edit]] = lambda finding: ()
    exit_code: int | None = None

    @property
    def probes_failed(self) -> int:
        """How many probes ran and could not be traced."""
        return sum(probe.executables is None for probe in self.probes)

    @property
    def left(self) -> str:
        """What is to be said of the probes that were not to run."""
        return "of other files not run" if self.elsewhere else "not run"

    def fixable(self, *, safe: bool) -> int:
        """How many findings have a fix of this kind that `--fix` makes."""
        fixes = [finding.fix for finding in self.diagnostics if finding.fix is not None]
        return sum(bool(fix.edits) and fix.safe == safe for fix in fixes)

    def executables(self, finding: Diagnostic) -> Executables | None:
        """What the probe behind this finding costs; names may repeat, so the probe's place decides."""
        named = [probe for probe in self.probes if probe.name == finding.probe]
        places = {(related.location.path, related.location.line) for related in finding.related}
        exact = [probe for probe in named if (probe.path, probe.line) in places]
        return next((probe.executables for probe in (*exact, *named)), None)


class Look(msgspec.Struct, frozen=True):
    """How a report is to look: ``quiet`` leaves out all but findings, ``colour`` paints for a terminal."""

    quiet: bool = False
    colour: bool = False

    def paint(self, text: str, style: str) -> str:
        """The text in a style of `STYLES`."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.colour and text else text


STYLES = {
    "error": "1;31",
    "warning": "1;33",
    "info": "1;36",
    "code": "1",
    "path": "1",
    "dim": "2",
    "good": "1;32",
}
"""ANSI codes by the role of a text."""

Render = Callable[[Report, Look], Iterator[str]]
"""A format: the lines of a report."""


LONGEST = 400
"""Characters of a text that a line for people shows. Rules keep what they say short; this is for what they quote."""


def one_line(text: str) -> str:
    """The text without line breaks and not without end, with control characters made visible."""
    return escaped(brief(" ".join(text.split("\n")), LONGEST))


def escaped(text: str) -> str:
    """All of the text, with line breaks and control characters made visible."""
    return text if text.isprintable() else "".join(map(_visible, text))


def _visible(char: str) -> str:
    # A surrogate is a byte of a file's name that is not UTF-8: the stream's error handler shows it.
    if char.isprintable() or "\ud800" <= char <= "\udfff":
        return char
    if char == "\n":
        return "\\n"
    return f"\\x{ord(char):02x}" if char < "\u0100" else f"\\u{ord(char):04x}"


def plain(text: str) -> str:
    """The text as Unicode that any program reads: a byte of a file's name that is not UTF-8 as a terminal shows it."""
    return text.encode("utf-8", "backslashreplace").decode()


def headline(finding: Diagnostic, look: Look) -> str:
    """`train.py:14:12: SL401 [error] message`."""
    at = finding.location
    place = look.paint(f"{escaped(in_workspace(at.path))}:{at.line}:{at.column}:", "path")
    severity = look.paint(f"[{finding.severity.value}]", finding.severity.value)
    return f"{place} {look.paint(finding.code, 'code')} {severity} {one_line(finding.message)}"


def in_workspace(path: str) -> str:
    """The path as GitHub looks for it: relative to the repository, where a step of a workflow runs below it."""
    return within(os.environ.get("GITHUB_WORKSPACE"), path) or path


def within(folder: str | None, path: str) -> str | None:
    """The path relative to a folder; None where it is not below it."""
    if not folder:
        return None
    relative = os.path.relpath(path, folder)
    return None if relative.split(os.sep)[0] == os.pardir else relative


def closing(report: Report, look: Look) -> Iterator[str]:
    """What was fixed, what can be, and in the last line what was found and checked and what not."""
    if report.fixed is not None:
        yield f"Fixed {report.fixed}"
    safe, unsafe = report.fixable(safe=True), report.fixable(safe=False)
    if safe:
        more = f" ({unsafe} more with --unsafe-fixes)" if unsafe else ""
        yield f"{safe} fixable with --fix{more}"
    elif unsafe:
        yield f"{unsafe} fixable with --fix --unsafe-fixes"
    if report.stale:
        yield f"{counted(report.stale, 'finding')} of the baseline gone: --write-baseline takes them out"
    for probe in report.probes:
        if probe.executables is not None and probe.measured is not None:
            yield f"probe {probe.name}: predicted {_costs(probe.executables)}; measured {_costs(probe.measured)}"
        if probe.donation is not None:
            yield f"probe {probe.name}: {probe.donation.described}"
    yield summary(report, look)


def _costs(executables: Executables) -> str:
    loop = "one executable a call" if executables.loop is None else f"{counted(executables.loop, 'executable')}"
    return f"{loop}, {executables.restore} more after a restore"


def summary(report: Report, look: Look) -> str:
    """What was found, and what was checked and what not."""
    besides = _besides(report)
    scope = [counted(report.files, "file")]
    if report.probes:
        scope.append(counted(len(report.probes), "probe"))
    if not report.diagnostics:
        if not report.files and not report.probes:
            return f"Nothing to check: no Python files{besides}"
        if report.unparsed or report.screened or report.probes_failed:
            return f"Nothing found in {', '.join(scope)}{besides}"
        verdict = "Nothing new:" if report.hidden else "All clean:"
        return f"{look.paint(verdict, 'good')} {', '.join(scope)} checked{besides}"
    severities = [finding.severity for finding in report.diagnostics]
    counts = [
        look.paint(_tally(severity, severities.count(severity)), severity.value)
        for severity in reversed(Severity)
        if severity in severities
    ]
    return f"{', '.join(counts)} in {', '.join(scope)}{besides}"


def _tally(severity: Severity, number: int) -> str:
    return f"{number} info" if severity is Severity.INFO else counted(number, severity.value)


def _besides(report: Report) -> str:
    parts = [
        f"{counted(number, noun)} {verb}"
        for number, noun, verb in (
            (report.unparsed, "file", "not parsed"),
            (report.screened, "file", "without JAX not parsed"),
            (report.probes_failed, "probe", "failed"),
            (report.probes_left, "probe", report.left),
            (report.hidden, "finding", "hidden by the baseline"),
        )
        if number
    ]
    return f" ({', '.join(parts)})" if parts else ""


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
