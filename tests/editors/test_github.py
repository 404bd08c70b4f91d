"""The problem matcher for GitHub Actions, applied to real output as its runner does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.editors.findings import Finding, expected, make, needs, run, set_up
from tests.editors.node import matches

TAKEN = ("error", "warning", "notice")
"""The severities that the runner takes; it drops what has another."""


def issues(output: str) -> list[Finding]:
    """What the runner makes of these lines: the first matcher that gives an issue has the line."""
    matchers = json.loads(set_up("github"))["problemMatcher"]
    patterns = [pattern for matcher in matchers for pattern in matcher["pattern"]]
    lines = output.splitlines()
    found: list[Finding] = []
    for row in matches([pattern["regexp"] for pattern in patterns], lines):
        made = (_issue(*each) for each in zip(matchers, patterns, row, strict=True))
        found += [issue for issue in made if issue is not None][:1]
    return found


def _issue(matcher: dict[str, Any], pattern: dict[str, Any], groups: list[str] | None) -> Finding | None:
    if groups is None:
        return None
    severity = groups[pattern["severity"]] if "severity" in pattern else matcher.get("severity", "error")
    if severity not in TAKEN:
        return None
    path, line, column, code, message = (groups[pattern[key]] for key in ("file", "line", "column", "code", "message"))
    return Finding(path, int(line), int(column), code, severity, message)


def test_owners_differ_and_default_severities_are_taken() -> None:
    matchers = json.loads(set_up("github"))["problemMatcher"]
    assert len({matcher["owner"] for matcher in matchers}) == len(matchers)
    assert {matcher.get("severity", "error") for matcher in matchers} <= set(TAKEN)


@needs("node")
@pytest.mark.parametrize("options", [("--output-format", "concise"), (), ("--quiet",)])
def test_every_finding_is_an_issue_and_nothing_else_is(tmp_path: Path, options: tuple[str, ...]) -> None:
    make(tmp_path)
    called = {"info": "notice"}
    found = [each._replace(severity=called.get(each.severity, each.severity)) for each in expected(tmp_path)]
    assert issues(run(tmp_path, "statelint", *options)) == found


@needs("node")
def test_what_only_looks_like_a_finding() -> None:
    lines = [
        "a.py:1:2: E501 line too long",
        "a.py:1: SL401 [error] no column",
        "a.py:1:2: SL401 [fatal] unknown severity",
        "3 errors, 1 warning in 2 files",
        "a.py:1:2: SL401 [error] ",
    ]
    assert issues("\n".join(lines)) == []
