"""SARIF 2.1.0, the form in which code scanning, editors and other tools exchange findings."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote_from_bytes

from statelint import __version__
from statelint.config import shown
from statelint.diagnostics import Diagnostic, Edit, Fix, Location, Severity
from statelint.report.base import Look, Report, RuleText, plain, summary, within
from statelint.report.fingerprints import fingerprints

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def render(report: Report, look: Look) -> Iterator[str]:
    """One JSON object, with one run."""
    rules = report.rules()
    places = {rule.code: place for place, rule in enumerate(rules)}
    results = [
        _result(finding, fingerprint, report, places)
        for finding, fingerprint in zip(report.diagnostics, fingerprints(report.diagnostics), strict=True)
    ]
    run = {
        "tool": {
            "driver": {
                "name": "statelint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "invocations": [_invocation(report)],
        "originalUriBaseIds": {_ROOT: {"uri": _uri(Path(_workspace() or Path.cwd()))}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: RuleText) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": f"statelint rule {rule.code}", "markdown": rule.page},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


# --- what was found -------------------------------------------------------------------------------------


def _result(finding: Diagnostic, fingerprint: str, report: Report, places: dict[str, int]) -> dict[str, Any]:
    properties = {"detector": finding.detector, "field": finding.field, "probe": finding.probe}
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": _message(finding.message),
        "locations": [_location(finding.location)],
        "partialFingerprints": {"statelint/v1": fingerprint},
        "properties": {key: plain(value) for key, value in properties.items() if value is not None},
    }
    if finding.code in places:
        result["ruleIndex"] = places[finding.code]
    if finding.related:
        result["relatedLocations"] = [
            {**_location(related.location), "message": _message(related.message)} for related in finding.related
        ]
    edits = report.edits(finding)
    if finding.fix is not None and edits:
        result["fixes"] = [_fix(finding.fix, edits)]
    return result


def _message(text: str) -> dict[str, str]:
    return {"text": plain(text)}


def _location(at: Location) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": _artifact(at.path), "region": _region(at)}}


def _region(at: Location) -> dict[str, int]:
    ends = {"startLine": at.line, "startColumn": at.column, "endLine": at.end_line, "endColumn": at.end_column}
    return {name: value for name, value in ends.items() if value is not None}


def _fix(fix: Fix, edits: Sequence[Edit]) -> dict[str, Any]:
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.at.path, []).append(edit)
    changes = [
        {"artifactLocation": _artifact(path), "replacements": [_replacement(edit) for edit in in_file]}
        for path, in_file in by_file.items()
    ]
    return {"description": _message(fix.message), "artifactChanges": changes, "properties": {"safe": fix.safe}}


def _replacement(edit: Edit) -> dict[str, Any]:
    return {"deletedRegion": _region(edit.at), "insertedContent": {"text": plain(edit.text)}}


# --- how it went ----------------------------------------------------------------------------------------


def _invocation(report: Report) -> dict[str, Any]:
    """What could not be checked makes the execution an unsuccessful one, whatever was found."""
    exit_code = {} if report.exit_code is None else {"exitCode": report.exit_code}
    return {
        "executionSuccessful": not report.unparsed and not report.probes_failed,
        **exit_code,
        "workingDirectory": {"uri": _uri(Path.cwd())},
        "toolExecutionNotifications": list(_notifications(report)),
    }


def _notifications(report: Report) -> Iterator[dict[str, Any]]:
    for path, is_checked in report.paths.items():
        if not is_checked:
            yield _notification("error", "not checked: it does not parse", Location(path, 1))
    for probe in report.probes:
        if probe.executables is None:
            yield _notification("error", f"probe {probe.name} could not be traced", Location(probe.path, probe.line))
    yield _notification("note", summary(report, Look()))


def _notification(level: str, text: str, *at: Location) -> dict[str, Any]:
    locations = {"locations": [_location(place) for place in at]} if at else {}
    return {"level": level, "message": _message(text), **locations}


# --- where ----------------------------------------------------------------------------------------------


def _artifact(path: str) -> dict[str, str]:
    """Relative to the repository in a workflow of GitHub, else to the current folder, as code scanning needs it."""
    name = PurePath(within(_workspace(), path) or shown(path))
    if name.is_absolute():
        return {"uri": name.as_uri()}
    return {"uri": quote_from_bytes(os.fsencode(name.as_posix())), "uriBaseId": _ROOT}


def _workspace() -> str | None:
    """The repository's folder in a workflow of GitHub that runs within it."""
    workspace = os.environ.get("GITHUB_WORKSPACE")
    return workspace if within(workspace, os.curdir) is not None else None


def _uri(folder: Path) -> str:
    return f"{folder.as_uri().rstrip('/')}/"
