"""Held against what GitLab's documentation says of the code quality report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from statelint.diagnostics import Location
from statelint.report import Look, Report, renderer

SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{32,}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "additionalProperties": False,
                "properties": {
                    "path": {"type": "string", "pattern": r"^(?!\./|/)"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}, "end": {"type": "integer"}},
                    },
                },
            },
        },
    },
}


@pytest.fixture(autouse=True)
def _no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI_PROJECT_DIR", raising=False)


def render(report: Report) -> list[dict[str, Any]]:
    issues: list[dict[str, Any]] = json.loads("\n".join(renderer("gitlab")(report, Look())))
    jsonschema.validate(issues, SCHEMA)
    return issues


def test_an_issue(report: Report) -> None:
    issue = render(report)[0]
    del issue["fingerprint"]
    assert issue == {
        "description": "SL401 state.mu and state.nu share one buffer: donating this state fails",
        "check_name": "shared-buffer",
        "severity": "critical",
        "location": {"path": "train.py", "lines": {"begin": 3, "end": 3}},
    }


def test_severities(report: Report) -> None:
    assert [issue["severity"] for issue in render(report)] == ["critical", "minor", "info"]


def test_nothing_found_is_an_empty_array(report: Report) -> None:
    assert render(msgspec.structs.replace(report, diagnostics=())) == []


def test_odd_names_and_messages(odd: Report) -> None:
    text = "".join(renderer("gitlab")(odd, Look()))
    assert text.isascii()
    json.dumps(json.loads(text), ensure_ascii=False).encode()  # no lone surrogate, which GitLab's parser refuses
    assert len(render(odd)) == len(odd.diagnostics)


def test_a_finding_is_known_again_when_lines_move(odd: Report) -> None:
    moved = [msgspec.structs.replace(each, location=Location(each.location.path, 70)) for each in odd.diagnostics]
    before, after = render(odd), render(msgspec.structs.replace(odd, diagnostics=tuple(moved)))
    assert [issue["fingerprint"] for issue in before] == [issue["fingerprint"] for issue in after]


def test_findings_that_are_alike_are_told_apart(report: Report) -> None:
    alike = msgspec.structs.replace(report, diagnostics=report.diagnostics[:1] * 3)
    assert len({issue["fingerprint"] for issue in render(alike)}) == 3


def test_paths_are_those_of_the_repository(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    absolute = msgspec.structs.replace(report.diagnostics[0], location=Location(str(tmp_path / "a.py"), 1))
    report = msgspec.structs.replace(report, diagnostics=(absolute, report.diagnostics[0]))
    assert [issue["location"]["path"] for issue in render(report)] == ["a.py", "sub/train.py"]
