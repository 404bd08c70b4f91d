"""Held against the schema of the Reviewdog Diagnostic Format, whose columns count bytes of UTF-8."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from statelint.diagnostics import Diagnostic, Location, Severity
from statelint.report import Look, Report, renderer

POSITION = {
    "type": "object",
    "required": ["line"],
    "additionalProperties": False,
    "properties": {"line": {"type": "integer", "minimum": 1}, "column": {"type": "integer", "minimum": 1}},
}
RANGE = {
    "type": "object",
    "required": ["start"],
    "additionalProperties": False,
    "properties": {"start": POSITION, "end": POSITION},
}
SCHEMA = {
    "type": "object",
    "required": ["diagnostics"],
    "additionalProperties": False,
    "properties": {
        "source": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}},
        "diagnostics": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["message", "location"],
                "additionalProperties": False,
                "properties": {
                    "message": {"type": "string", "minLength": 1},
                    "location": {
                        "type": "object",
                        "required": ["path"],
                        "additionalProperties": False,
                        "properties": {"path": {"type": "string", "minLength": 1}, "range": RANGE},
                    },
                    "severity": {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]},
                    "code": {"type": "object", "properties": {"value": {"type": "string"}}},
                    "suggestions": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["range", "text"],
                            "additionalProperties": False,
                            "properties": {"range": RANGE, "text": {"type": "string"}},
                        },
                    },
                },
            },
        },
    },
}

FAULTY = """\
import jax
import jax.numpy as jnp


def create_state(p):
    zeros = jax.tree.map(jnp.zeros_like, p)
    return {"params": p, "名前\N{GRINNING FACE}": 1, "mu": zeros, "nu": zeros, "step": 0}
"""


def render(report: Report) -> dict[str, Any]:
    document: dict[str, Any] = json.loads("\n".join(renderer("rdjson")(report, Look())))
    jsonschema.validate(document, SCHEMA)
    return document


def test_a_diagnostic(report: Report) -> None:
    assert render(report)["diagnostics"][0] == {
        "message": "state.mu and state.nu share one buffer: donating this state fails",
        "location": {
            "path": "train.py",
            "range": {"start": {"line": 3, "column": 22}, "end": {"line": 3, "column": 27}},
        },
        "severity": "ERROR",
        "code": {"value": "SL401"},
    }
    assert [each["severity"] for each in render(report)["diagnostics"]] == ["ERROR", "WARNING", "INFO"]


def test_columns_count_bytes(report: Report) -> None:
    assert render(report)["diagnostics"][1]["location"]["range"] == {"start": {"line": 5, "column": 22}}


def test_odd_names_and_messages(odd: Report) -> None:
    text = "".join(renderer("rdjson")(odd, Look()))
    json.dumps(json.loads(text), ensure_ascii=False).encode()  # no lone surrogate, which reviewdog's parser refuses
    assert len(render(odd)["diagnostics"]) == len(odd.diagnostics)


def run(folder: Path, *options: str) -> str:
    command = [sys.executable, "-m", "statelint", "--isolated", "--no-probe", *options, "a.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8", check=False).stdout


WITHOUT_IMPORT = """\
import optax


def create_state(p):
    return {"params": p, "opt_state": optax.adam(1e-3).init(p), "名前": None, "step": 0}
"""


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("SL101", FAULTY),
        ("SL401", FAULTY),
        ("SL101", WITHOUT_IMPORT),
        ("SL101", WITHOUT_IMPORT.replace("\n", "\r\n")),
    ],
)
def test_a_suggestion_does_what_the_fix_does(tmp_path: Path, code: str, text: str) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(text.encode())
    document = json.loads(run(tmp_path, "--select", code, "--output-format", "rdjson"))
    jsonschema.validate(document, SCHEMA)
    ((suggestion,),) = [each["suggestions"] for each in document["diagnostics"]]
    run(tmp_path, "--select", code, "--fix")
    assert path.read_bytes() == apply(text.encode(), suggestion) != text.encode()
    assert ("import" in suggestion["text"]) == (text.encode().count(b"import") < path.read_bytes().count(b"import"))


def apply(data: bytes, suggestion: dict[str, Any]) -> bytes:
    lines = data.split(b"\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    start, end = (
        starts[suggestion["range"][name]["line"] - 1] + suggestion["range"][name]["column"] - 1
        for name in ("start", "end")
    )
    return data[:start] + suggestion["text"].encode() + data[end:]


def test_only_safe_fixes_are_suggested(odd: Report) -> None:
    unsafe = [
        msgspec.structs.replace(each, fix=msgspec.structs.replace(each.fix, safe=False)) for each in odd.diagnostics
    ]
    assert "suggestions" in render(odd)["diagnostics"][0]
    document = render(msgspec.structs.replace(odd, diagnostics=tuple(unsafe)))
    assert not any("suggestions" in each for each in document["diagnostics"])


def test_a_place_that_the_source_does_not_show() -> None:
    finding = Diagnostic("SL902", "probe-failed", Severity.ERROR, "m", Location("gone.py", 9, 4, 9, 8))
    (diagnostic,) = render(Report(diagnostics=(finding,), files=1))["diagnostics"]
    assert diagnostic["location"]["range"] == {"start": {"line": 9, "column": 4}, "end": {"line": 9, "column": 8}}
