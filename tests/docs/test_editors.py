"""docs/editors.md shows what `statelint editor` prints, and its commands do what it says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from statelint.cli.editor import EDITORS
from tests.docs.blocks import blocks
from tests.statelint_cli import ROOT

BUFFER = "import jax.numpy as jnp\n\nzeros = jnp.zeros(3)\nstate = {'mu': zeros, 'nu': zeros}\n"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    env = {**os.environ, "PATH": path, "HOME": str(folder)}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("heading", "language", "editor", "written"),
    [
        ("VS Code", "json", "vscode", ".vscode/tasks.json"),
        ("Vim", "vim", "vim", ".vim/compiler/statelint.vim"),
        ("Emacs", "elisp", "emacs", ".emacs.d/init.el"),
    ],
)
def test_each_is_shown_in_full_and_its_command_writes_it(
    tmp_path: Path, heading: str, language: str, editor: str, written: str
) -> None:
    shown = blocks("editors.md", language)[heading]
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".emacs.d").mkdir()
    command = blocks("editors.md", "console")[heading].removeprefix("$ ")
    assert shell(command, tmp_path).returncode == 0
    assert (tmp_path / written).read_text(encoding="utf-8") == shown
    assert shown == (ROOT / "statelint/editors" / EDITORS[editor]).read_text(encoding="utf-8")


def test_what_is_json_is_json() -> None:
    tasks = json.loads(blocks("editors.md", "json")["VS Code"])["tasks"]
    assert [task["label"] for task in tasks] == ["statelint", "statelint: watch"]


def test_a_buffer_is_linted_as_shown(tmp_path: Path) -> None:
    (tmp_path / "buffer").write_text(BUFFER)
    command, shown = blocks("editors.md", "console")["Any other"].removeprefix("$ ").split("\n", 1)
    done = shell(command, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (1, shown, "")
