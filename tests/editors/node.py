"""Regular expressions as JavaScript reads them: in Node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.editors.findings import run

PROGRAM = """
const { patterns, lines } = JSON.parse(require("fs").readFileSync(0, "utf8"));
const expressions = patterns.map((pattern) => new RegExp(pattern));
console.log(JSON.stringify(lines.map((line) => expressions.map((expression) => expression.exec(line)))));
"""


def matches(patterns: list[str], lines: list[str]) -> list[list[list[Any] | None]]:
    """The groups that each pattern finds in each line; None where it does not match."""
    given = json.dumps({"patterns": patterns, "lines": lines})
    found: list[list[list[Any] | None]] = json.loads(run(Path.cwd(), "node", "-e", PROGRAM, text=given))
    return found
