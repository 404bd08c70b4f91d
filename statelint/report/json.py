"""The JSON form, version 1, which other tools build on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from statelint.diagnostics import Diagnostic, Edit, Fix
from statelint.report.base import Look, ProbeReport, Report

VERSION = 1


def render(report: Report, look: Look) -> Iterator[str]:
    """One JSON object."""
    document = {
        "version": VERSION,
        "checked": {
            "files": report.files - report.unparsed,
            "probes": [_probe(probe) for probe in report.probes],
        },
        "hidden": report.hidden,
        "fixed": msgspec.to_builtins(report.fixed),
        "diagnostics": [_diagnostic(finding, report) for finding in report.diagnostics],
    }
    # ASCII: a file's name that is not UTF-8 has no other form in JSON.
    yield json.dumps(document, indent=2)


def _probe(probe: ProbeReport) -> dict[str, Any]:
    return {
        "name": probe.name,
        "path": probe.path,
        "line": probe.line,
        "executables": msgspec.to_builtins(probe.executables),
        **({} if probe.measured is None else {"measured": msgspec.to_builtins(probe.measured)}),
        **({} if probe.donation is None else {"donation": msgspec.to_builtins(probe.donation)}),
    }


def _fix(fix: Fix, edits: Sequence[Edit]) -> dict[str, Any]:
    written = [{**msgspec.to_builtins(edit.at), "text": edit.text} for edit in edits]
    return {"safe": fix.safe, "message": fix.message, **({"edits": written} if written else {})}


def _diagnostic(finding: Diagnostic, report: Report) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "detector": finding.detector,
        "message": finding.message,
        **msgspec.to_builtins(finding.location),
        "field": finding.field,
        "probe": finding.probe,
        "executables": msgspec.to_builtins(report.executables(finding)),
        "fix": None if finding.fix is None else _fix(finding.fix, report.edits(finding)),
        "related": [
            {"message": related.message, **msgspec.to_builtins(related.location)} for related in finding.related
        ],
        "docs": report.pages.get(finding.code),
    }
