"""What is reported, and how it is to look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.trace import Executables


class ProbeReport(msgspec.Struct, frozen=True):
    """A probe of the run: where it is declared, and what it costs; ``executables`` is None when it failed."""

    name: str
    path: str
    line: int
    executables: Executables | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a run.

    Attributes:
        diagnostics: sorted by place.
        files: how many were read.
        unparsed: how many of these are not Python, so that they were not checked.
        probes: those that ran, well or not.
        probes_left: how many declared probes were not to run.
        source: the lines of a file by its path as shown, without their ends; empty when it cannot be read.
        pages: the documentation page of every rule by its code.
    """

    diagnostics: tuple[Diagnostic, ...]
    files: int
    unparsed: int = 0
    probes: tuple[ProbeReport, ...] = ()
    probes_left: int = 0
    source: Callable[[str], Sequence[str]] = lambda path: ()
    pages: Mapping[str, str] = {}

    @property
    def probes_failed(self) -> int:
        """How many probes ran and could not be traced."""
        return sum(probe.executables is None for probe in self.probes)

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


def one_line(text: str) -> str:
    """The text without line breaks, and with control characters made visible."""
    joined = " ".join(text.split("\n")) if "\n" in text else text
    return joined if joined.isprintable() else "".join(map(_visible, joined))


def _visible(char: str) -> str:
    # A surrogate is a byte of a file's name that is not UTF-8: the stream's error handler shows it.
    return char if char.isprintable() or "\ud800" <= char <= "\udfff" or char == " " else f"\\x{ord(char):02x}"


def headline(finding: Diagnostic, look: Look) -> str:
    """`train.py:14:12: SL401 [error] message`."""
    at = finding.location
    place = look.paint(f"{one_line(at.path)}:{at.line}:{at.column}:", "path")
    severity = look.paint(f"[{finding.severity.value}]", finding.severity.value)
    return f"{place} {look.paint(finding.code, 'code')} {severity} {one_line(finding.message)}"


def summary(report: Report, look: Look) -> str:
    """What was found, and what was checked and what not."""
    left = _not_checked(report)
    if not report.diagnostics:
        checked = [_count(report.files - report.unparsed, "file")]
        if report.probes:
            checked.append(_count(len(report.probes) - report.probes_failed, "probe"))
        return f"{look.paint('All clean:', 'good')} {', '.join(checked)} checked{left}"
    severities = [finding.severity for finding in report.diagnostics]
    counts = [
        look.paint(_count(severities.count(severity), _NOUNS[severity]), severity.value)
        for severity in reversed(Severity)
        if severity in severities
    ]
    scope = [_count(report.files, "file")]
    if report.probes:
        scope.append(_count(len(report.probes), "probe"))
    return f"{', '.join(counts)} in {', '.join(scope)}{left}"


_NOUNS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def _not_checked(report: Report) -> str:
    parts = [
        f"{_count(number, noun)} {verb}"
        for number, noun, verb in (
            (report.unparsed, "file", "not parsed"),
            (report.probes_failed, "probe", "failed"),
            (report.probes_left, "probe", "not run"),
        )
        if number
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
