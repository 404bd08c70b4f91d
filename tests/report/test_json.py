from __future__ import annotations

import json

import msgspec

from statelint.diagnostics import Location
from statelint.report import Look, Report, renderer


def render(report: Report) -> dict[str, object]:
    document: dict[str, object] = json.loads("\n".join(renderer("json")(report, Look())))
    return document


def test_the_documented_form(report: Report) -> None:
    document = render(msgspec.structs.replace(report, diagnostics=report.diagnostics[:1]))
    assert document == {
        "version": 1,
        "checked": {
            "files": 14,
            "probes": [
                {"name": "train", "path": "other.py", "line": 3, "executables": {"loop": 9, "restore": 9}},
                {"name": "train", "path": "train.py", "line": 40, "executables": {"loop": 1, "restore": 0}},
                {"name": "broken", "path": "train.py", "line": 50, "executables": None},
            ],
        },
        "hidden": 0,
        "fixed": None,
        "diagnostics": [
            {
                "code": "SL401",
                "name": "shared-buffer",
                "severity": "error",
                "detector": "both",
                "message": "state.mu and state.nu share one buffer: donating this state fails",
                "path": "train.py",
                "line": 3,
                "column": 22,
                "end_line": 3,
                "end_column": 27,
                "field": "opt_state.nu",
                "probe": "train",
                "executables": {"loop": 1, "restore": 0},
                "fix": {"safe": True, "message": "Make a second buffer"},
                "related": [
                    {
                        "message": "probe train is declared here",
                        "path": "train.py",
                        "line": 40,
                        "column": 1,
                        "end_line": None,
                        "end_column": None,
                    }
                ],
                "docs": "docs/rules/SL401.md",
            }
        ],
    }


def test_a_finding_of_the_source_has_no_executables(report: Report) -> None:
    finding = render(report)["diagnostics"][1]  # type: ignore[index]
    assert (finding["probe"], finding["executables"], finding["fix"]) == (None, None, None)


def test_names_that_are_not_utf8(report: Report) -> None:
    odd = msgspec.structs.replace(report.diagnostics[0], location=Location("caf\udce9.py", 1))
    document = render(msgspec.structs.replace(report, diagnostics=(odd,)))
    assert document["diagnostics"][0]["path"] == "caf\udce9.py"  # type: ignore[index]


def test_files_that_are_not_python_are_not_counted_as_checked(report: Report) -> None:
    assert render(msgspec.structs.replace(report, unparsed=2))["checked"]["files"] == 12  # type: ignore[index]
