"""The form for people: each finding with the source it is about, what to do, and where to read on."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from statelint.diagnostics import Diagnostic, Fix, Location
from statelint.model.wording import brief
from statelint.report import concise
from statelint.report.base import Look, Report, closing, escaped, headline, in_workspace, one_line

_TAB = 4
_CONTEXT = 1
_WIDEST = 160
_NOTES = 8


def render(report: Report, look: Look) -> Iterator[str]:
    """Each finding in full, and the summary."""
    if look.quiet:
        yield from concise.render(report, look)
        return
    yield from findings(report, look)
    yield from closing(report, look)


def findings(report: Report, look: Look) -> Iterator[str]:
    """Each finding in full, with an empty line behind it."""
    explained: set[str] = set()
    for finding in report.diagnostics:
        yield headline(finding, look)
        yield from _body(finding, report, look, explained)
        yield ""


def _body(finding: Diagnostic, report: Report, look: Look, explained: set[str]) -> Iterator[str]:
    at = finding.location
    frame = list(_frame(at, report.source(at.path), finding.severity.value, look))
    yield from frame
    indent = " " * (len(str(_last_shown(at))) if frame else 1)
    for kind, text in _remarks(finding, explained):
        yield f"{indent} {look.paint('=', 'dim')} {look.paint(kind + ':', 'code')} {text}"
    explained.add(finding.code)


_SEEN = {
    "source": "in the source",
    "probe": "by probe {}",
    "both": "in the source, and confirmed by probe {}",
}


def _remarks(finding: Diagnostic, explained: set[str]) -> Iterator[tuple[str, str]]:
    yield "seen", _SEEN[finding.detector].format(one_line(finding.probe or ""))
    for related in finding.related[:_NOTES]:
        at = related.location
        yield "note", f"{escaped(in_workspace(at.path))}:{at.line}: {one_line(related.message)}"
    if len(finding.related) > _NOTES:
        yield "note", f"and {len(finding.related) - _NOTES:,} more places"
    for line in finding.printed:
        yield "printed", one_line(brief(line))
    if finding.fix is not None:
        yield _remedy(finding.fix), one_line(finding.fix.message)
    if finding.code not in explained:
        yield "more", f"statelint rule {finding.code}"


def _remedy(fix: Fix) -> str:
    """Whether it is advice, or what makes the fix."""
    if not fix.edits:
        return "help"
    return "fix (--fix)" if fix.safe else "fix (--fix --unsafe-fixes)"


def _frame(at: Location, source: Sequence[str], style: str, look: Look) -> Iterator[str]:
    """The line, with a line around it, and carets below what the finding is about."""
    if not 1 <= at.line <= len(source):
        return
    width = len(str(_last_shown(at)))
    last = min(at.line + _CONTEXT, len(source))
    lines = {number: source[number - 1] for number in range(max(1, at.line - _CONTEXT), last + 1)}
    yield " " * width + look.paint(" |", "dim")
    for number, line in lines.items():
        yield (look.paint(f"{number:{width}} |", "dim") + " " + _displayed(line)).rstrip()
        if number == at.line:
            start, length = _carets(at, line)
            yield " " * width + look.paint(" |", "dim") + " " * (start + 1) + look.paint("^" * length, style)


def _last_shown(at: Location) -> int:
    return at.line + _CONTEXT


def _carets(at: Location, line: str) -> tuple[int, int]:
    """Where the carets start, in cells, and how many; of several lines the first is marked to its end."""
    start = min(at.column - 1, len(line))
    if at.end_line in (None, at.line):
        end = max(start, (at.end_column or at.column + 1) - 1)
    else:
        end = len(line.rstrip())
    before, upto = (min(_cells(line[:column]), _WIDEST) for column in (start, min(end, len(line))))
    return before, max(1, upto - before)


def _displayed(line: str) -> str:
    """The line as a terminal shows it: tabs as spaces, and no control character that it would obey."""
    shown = "".join(_cell(char, column) for char, column in _columns(line.rstrip()))
    return shown if len(shown) <= _WIDEST else shown[:_WIDEST] + "…"


def _columns(line: str) -> Iterator[tuple[str, int]]:
    column = 0
    for char in line:
        yield char, column
        column += _width(char, column)


def _cell(char: str, column: int) -> str:
    if char == "\t":
        return " " * _width(char, column)
    return char if char.isprintable() else "\N{REPLACEMENT CHARACTER}"


def _cells(text: str) -> int:
    return sum(_width(char, column) for char, column in _columns(text))


def _width(char: str, column: int) -> int:
    if char == "\t":
        return _TAB - column % _TAB
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
