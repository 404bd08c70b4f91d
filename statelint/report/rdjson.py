"""The Reviewdog Diagnostic Format, which reviewdog turns into comments on a change."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from statelint.diagnostics import Diagnostic, Edit, Location, Severity
from statelint.model.wording import brief
from statelint.report.base import LONGEST, Look, Report, plain

_SEVERITIES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.INFO: "INFO"}


def render(report: Report, look: Look) -> Iterator[str]:
    """One JSON object. It has a place for findings alone: what was not checked is among them, and nothing else is."""
    document = {
        "source": {"name": "statelint"},
        "diagnostics": [_diagnostic(finding, report) for finding in report.diagnostics],
    }
    yield json.dumps(document, indent=2)


def _diagnostic(finding: Diagnostic, report: Report) -> dict[str, Any]:
    at = finding.location
    lines = report.source(at.path)
    suggestion = _suggestion(finding, report, lines)
    return {
        "message": plain(brief(finding.message, LONGEST)),
        "location": {"path": plain(at.path), "range": _range(at, lines)},
        "severity": _SEVERITIES[finding.severity],
        "code": {"value": finding.code},
        **({"suggestions": [suggestion]} if suggestion is not None else {}),
    }


def _range(at: Location, lines: Sequence[str]) -> dict[str, Any]:
    start = _position(at.line, at.column, lines)
    if at.end_column is None:
        return {"start": start}
    return {"start": start, "end": _position(at.end_line or at.line, at.end_column, lines)}


def _position(line: int, column: int, lines: Sequence[str]) -> dict[str, int]:
    """The format counts bytes of UTF-8."""
    before = lines[line - 1][: column - 1] if 1 <= line <= len(lines) else ""
    return {"line": line, "column": column - len(before) + len(before.encode("utf-8", "surrogatepass"))}


def _suggestion(finding: Diagnostic, report: Report, lines: Sequence[str]) -> dict[str, Any] | None:
    """A safe fix as one text: of several suggestions a reviewer may take one, and a fix is made whole or not at all."""
    if finding.fix is None or not finding.fix.safe:
        return None
    edits = sorted(report.edits(finding), key=lambda edit: (edit.at.line, edit.at.column))
    if not edits:
        return None
    first, last = edits[0].at, edits[-1].at
    whole = Location(first.path, first.line, first.column, last.end_line or last.line, last.end_column or last.column)
    return {"range": _range(whole, lines), "text": plain(_written(edits, lines))}


def _written(edits: Sequence[Edit], lines: Sequence[str]) -> str:
    """What the edits make of the text from the first one's start to the last one's end."""
    parts = [edits[0].text]
    for before, edit in itertools.pairwise(edits):
        start = before.at.end_line or before.at.line, before.at.end_column or before.at.column
        parts += [_between(start, (edit.at.line, edit.at.column), lines), edit.text]
    text = "".join(parts)
    # The lines of the source come without their ends; an import that is added has one of the file's own.
    return re.sub(r"\r?\n", "\r\n", text) if any("\r\n" in edit.text for edit in edits) else text


def _between(start: tuple[int, int], end: tuple[int, int], lines: Sequence[str]) -> str:
    (line, column), (end_line, end_column) = start, end
    if line == end_line:
        return lines[line - 1][column - 1 : end_column - 1]
    return "\n".join(
        [lines[line - 1][column - 1 :], *lines[line : end_line - 1], lines[end_line - 1][: end_column - 1]]
    )
