"""The compiler file for Vim, in a real Vim: `:make` fills the quickfix list."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.editors.findings import expected, make, run, set_up


def _has_quickfix() -> bool:
    vim = shutil.which("vim")
    if vim is None:
        return False
    features = subprocess.run([vim, "--version"], capture_output=True, text=True, check=False).stdout.split()
    return {"+quickfix", "+eval"} <= set(features)


pytestmark = pytest.mark.skipif(not _has_quickfix(), reason="vim with +quickfix is not installed")

REPORT = """
function! Report() abort
  let rows = []
  for item in getqflist()
    call add(rows, extend(copy(item), {"name": bufname(item.bufnr)}))
  endfor
  call writefile([json_encode(rows)], "quickfix.json")
endfunction
"""


def quickfix(folder: Path, *commands: str) -> list[dict[str, Any]]:
    """The quickfix list after some commands, given to Vim by its compiler file's name."""
    compiler = folder / ".vim/compiler/statelint.vim"
    compiler.parent.mkdir(parents=True)
    compiler.write_text(set_up("vim"), encoding="utf-8")
    (folder / "report.vim").write_text(REPORT, encoding="utf-8")
    script = [f"set runtimepath^={folder}/.vim", "source report.vim", *commands, "call Report()", "qall!"]
    options = [option for command in script for option in ("-c", command)]
    run(folder, "vim", "-u", "NONE", "-i", "NONE", "-N", "-n", "-es", "--cmd", "set encoding=utf-8", *options)
    rows: list[dict[str, Any]] = json.loads((folder / "quickfix.json").read_text(encoding="utf-8"))
    return rows


def test_make_fills_the_quickfix_list(tmp_path: Path) -> None:
    make(tmp_path)
    rows = quickfix(tmp_path, "compiler statelint", "silent make!")
    seen = [(row["name"], row["lnum"], row["col"], row["nr"], row["type"], row["text"]) for row in rows]
    assert seen == [
        (each.path, each.line, each.column, int(each.code.removeprefix("SL")), each.severity[0], each.message)
        for each in expected(tmp_path)
    ]


def test_make_takes_a_file(tmp_path: Path) -> None:
    make(tmp_path)
    rows = quickfix(tmp_path, "edit pkg/deep/a-b,c.py", "compiler statelint", "silent make! %")
    assert [(row["name"], row["lnum"], row["col"]) for row in rows] == [
        (each.path, each.line, each.column) for each in expected(tmp_path, "pkg/deep/a-b,c.py")
    ]


def test_it_can_be_set_for_all_buffers(tmp_path: Path) -> None:
    make(tmp_path)
    assert len(quickfix(tmp_path, "compiler! statelint", "edit train.py", "silent make! %")) == 4


def test_what_keeps_statelint_from_its_work_is_shown(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.statelint]\nselct = []\n")
    (row,) = quickfix(tmp_path, "compiler statelint", "silent make!")
    assert (row["type"], row["text"]) == (
        "e",
        "pyproject.toml: tool.statelint.selct: unknown key (did you mean select?)",
    )
