"""How many findings there are of each rule, in place of the findings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from statelint.report.base import Look, Render, Report, closing

FORMATS = ("text", "concise", "json")
"""The formats in which they can be had."""


def render(report: Report, look: Look) -> Iterator[str]:
    """A line for each rule, the most frequent first, and the summary."""
    rows = [(str(row["count"]), row["code"], row["name"], row["fixable"]) for row in _rows(report)]
    widths = [max(map(len, column)) for column in zip(*(row[:2] for row in rows), strict=True)]
    for count, code, name, fixable in rows:
        note = f" ({fixable} fixable)" if fixable else ""
        yield f"{count:>{widths[0]}}  {look.paint(code.ljust(widths[1]), 'code')}  {name}{note}"
    if not look.quiet:
        yield from closing(report, look)


def render_json(report: Report, look: Look) -> Iterator[str]:
    """The same as one JSON array."""
    yield json.dumps(list(_rows(report)), indent=2)


def renderer(name: str) -> Render:
    """The statistics in the format of that name."""
    return render_json if name == "json" else render


def _rows(report: Report) -> Iterator[dict[str, Any]]:
    counts = Counter((finding.code, finding.name) for finding in report.diagnostics)
    fixable = Counter(finding.code for finding in report.diagnostics if finding.fix is not None and finding.fix.edits)
    for (code, name), count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield {"count": count, "code": code, "name": name, "fixable": fixable[code]}
