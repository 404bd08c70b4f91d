"""One line for a finding."""

from __future__ import annotations

from collections.abc import Iterator

from statelint.report.base import Look, Report, closing, headline


def render(report: Report, look: Look) -> Iterator[str]:
    """One line for each finding, and the summary."""
    for finding in report.diagnostics:
        yield headline(finding, look)
    if not look.quiet:
        yield from closing(report, look)
