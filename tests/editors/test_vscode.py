"""The tasks for VS Code: their commands run, and their patterns find every finding in what they print."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import IO, Any

import pytest

from tests.editors.findings import Finding, environment, expected, make, needs, run, set_up
from tests.editors.node import matches


def tasks() -> dict[str, Any]:
    return {task["label"]: task for task in json.loads(set_up("vscode"))["tasks"]}


def problems(task: dict[str, Any], output: str) -> list[Finding]:
    pattern = task["problemMatcher"]["pattern"]
    keys = ("file", "line", "column", "code", "severity", "message")
    rows = [row for (row,) in matches([pattern["regexp"]], output.splitlines()) if row is not None]
    found = [[row[pattern[key]] for key in keys] for row in rows]
    return [Finding(path, int(line), int(column), *rest) for path, line, column, *rest in found]


@needs("node")
def test_the_task_shows_every_finding_and_nothing_else(tmp_path: Path) -> None:
    make(tmp_path)
    task = tasks()["statelint"]
    output = run(tmp_path, "bash", "-c", shlex.join([task["command"], *task["args"]]))
    assert problems(task, output) == expected(tmp_path)


@needs("node")
def test_the_watch_task_says_where_each_turn_begins_and_ends(tmp_path: Path) -> None:
    pytest.importorskip("watchfiles")
    make(tmp_path)
    task = tasks()["statelint: watch"]
    background = task["problemMatcher"]["background"]
    command = [task["command"], *task["args"]]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        try:
            first = _until(process.stdout, background["endsPattern"])
            before = expected(tmp_path)
            (tmp_path / "train.py").write_text("x = 1\n")
            second = _until(process.stdout, background["endsPattern"])
        finally:
            process.kill()
    assert problems(task, "".join(first)) == before
    assert problems(task, "".join(second)) == [each for each in before if each.path != "train.py"]
    patterns = [background["beginsPattern"], background["endsPattern"]]
    for lines, edges in ((first, [(False, True)]), (second, [(True, False), (False, True)])):
        seen = [tuple(groups is not None for groups in row) for row in matches(patterns, [*map(str.rstrip, lines)])]
        assert [row for row in seen if any(row)] == edges
        assert any(seen[0]) == (lines is second)


def _until(stream: IO[str], pattern: str) -> list[str]:
    """The lines up to the first that has this pattern."""
    lines: list[str] = []
    for line in stream:
        lines.append(line)
        if re.search(pattern, line):
            return lines
    raise AssertionError("".join(lines))


def test_paths_are_relative_to_the_folder_that_is_linted() -> None:
    for task in tasks().values():
        assert task["problemMatcher"]["fileLocation"] == ["relative", "${workspaceFolder}"]
