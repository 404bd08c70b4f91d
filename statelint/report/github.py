"""Workflow commands of GitHub Actions, which it shows as annotations."""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.wording import brief
from statelint.report.base import LONGEST, Look, Report, closing, in_workspace

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: Report, look: Look) -> Iterator[str]:
    """One command for each finding, and the summary for those who read the log."""
    for finding in report.diagnostics:
        yield _command(finding)
    if not look.quiet:
        yield from closing(report, Look())


def _command(finding: Diagnostic) -> str:
    at = finding.location
    is_one_line = at.end_line in (None, at.line)
    properties = {
        "file": in_workspace(at.path),
        "line": at.line,
        "endLine": at.end_line,
        # GitHub takes columns of a single line only.
        "col": at.column if is_one_line else None,
        "endColumn": at.end_column if is_one_line else None,
        "title": f"{finding.code} {finding.name}",
    }
    written = ",".join(
        f"{name}={_escape_property(str(value))}" for name, value in properties.items() if value is not None
    )
    return f"::{_COMMANDS[finding.severity]} {written}::{_escape(brief(finding.message, LONGEST))}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")
