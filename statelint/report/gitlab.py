"""GitLab's code quality report, which it shows in a merge request."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

from statelint.config import shown
from statelint.diagnostics import Diagnostic, Severity
from statelint.model.wording import brief
from statelint.report.base import LONGEST, Look, Report, plain, within
from statelint.report.fingerprints import fingerprints

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(report: Report, look: Look) -> Iterator[str]:
    """One JSON array. It has a place for findings alone: what was not checked is among them, and nothing else is."""
    issues = map(_issue, report.diagnostics, fingerprints(report.diagnostics))
    yield json.dumps(list(issues), indent=2)


def _issue(finding: Diagnostic, fingerprint: str) -> dict[str, Any]:
    at = finding.location
    return {
        "description": plain(brief(f"{finding.code} {finding.message}", LONGEST)),
        "check_name": finding.name,
        "fingerprint": fingerprint,
        "severity": _SEVERITIES[finding.severity],
        "location": {"path": _path(at.path), "lines": {"begin": at.line, "end": at.end_line or at.line}},
    }


def _path(path: str) -> str:
    """Relative to the repository, which a job may have left for one of its folders."""
    return plain(within(os.environ.get("CI_PROJECT_DIR"), path) or shown(path))
