"""The lines that pylint prints in its parseable form, which editors and CI servers know how to read."""

from __future__ import annotations

from collections.abc import Iterator

from statelint.report.base import Look, Report, closing, escaped, one_line


def render(report: Report, look: Look) -> Iterator[str]:
    """One line for each finding, and the summary."""
    for finding in report.diagnostics:
        at = finding.location
        yield f"{escaped(at.path)}:{at.line}: [{finding.code}] {one_line(finding.message)}"
    if not look.quiet:
        yield from closing(report, Look())
