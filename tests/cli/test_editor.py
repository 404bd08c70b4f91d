"""`statelint editor` prints what is kept for each editor."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from statelint.cli.editor import EDITORS
from tests.statelint_cli import ROOT

STATELINT = str(Path(sys.executable).with_name("statelint"))


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([STATELINT, *arguments], cwd=folder, capture_output=True, text=True, check=False)


def test_each_file_belongs_to_an_editor() -> None:
    assert {path.name for path in (ROOT / "statelint/editors").iterdir()} == set(EDITORS.values())


@pytest.mark.parametrize("name", EDITORS)
def test_its_file_is_printed_as_it_is(tmp_path: Path, name: str) -> None:
    done = run(tmp_path, "editor", name)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (ROOT / "statelint/editors" / EDITORS[name]).read_text(encoding="utf-8")
    assert f"\n  {name} " in run(tmp_path, "editor", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ([], "Missing argument 'EDITOR'. Choose from: github, vscode, vim, emacs"),
        (["nano"], "Invalid value for 'EDITOR': 'nano' is not one of 'github', 'vscode', 'vim', 'emacs'."),
    ],
)
def test_a_users_error_is_one_line(tmp_path: Path, arguments: list[str], line: str) -> None:
    done = run(tmp_path, "editor", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"statelint: error: {line}\n")
