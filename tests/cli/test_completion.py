"""Completion in real shells, at a real terminal, set up as the help says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.screens import on_screen

BIN = Path(sys.executable).parent

SETUPS = {
    "bash": (".bashrc", 'PS1="ready> "\neval "$(statelint completion bash)"\n', ["--rcfile", ".bashrc", "-i"]),
    "zsh": (
        ".zshrc",
        'PS1="ready> "\nautoload -Uz compinit && compinit -u\neval "$(statelint completion zsh)"\n',
        ["-i"],
    ),
    "fish": (
        "config/fish/config.fish",
        'function fish_prompt; echo "ready> "; end\nstatelint completion fish | source\n',
        ["-i"],
    ),
}


@pytest.fixture(params=SETUPS)
def shell(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    """The command of an interactive shell that is set up in this folder."""
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not installed")
    name, setup, options = SETUPS[request.param]
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text(setup)
    return [program, *options]


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("statelint compl\t", ["statelint completion"]),
        ("statelint --stat\t", ["statelint --statistics"]),
        ("statelint check --ignore shared-b\t", ["--ignore shared-buffer"]),
        ("statelint --select SL10\t\t", ["SL101", "SL102", "SL105"]),
        ("statelint rule SL90\t\t", ["SL900", "SL901", "SL902"]),
        ("statelint one\t", ["statelint one_loop.py"]),
    ],
)
def test_a_shell_completes(shell: list[str], typed: str, shown: list[str], tmp_path: Path) -> None:
    (tmp_path / "one_loop.py").write_text("x = 1\n")
    env = {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "ZDOTDIR": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
    }
    with on_screen(shell, cwd=tmp_path, env=env) as screen:
        screen.wait_for("ready>")
        screen.type(typed)
        screen.wait_for(*shown)


def complete(*words: str) -> list[str]:
    """What bash is offered for the last of these words."""
    env = {**os.environ, "_STATELINT_COMPLETE": "bash_complete"}
    env |= {"COMP_WORDS": " ".join(("statelint", *words)), "COMP_CWORD": str(len(words))}
    done = subprocess.run([BIN / "statelint"], env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line.startswith("plain,")]


def test_rules_of_a_list() -> None:
    assert complete("--select", "SL101,SL90") == ["SL101,SL900", "SL101,SL901", "SL101,SL902"]
    assert complete("--select", "SL101,shared") == ["SL101,shared-buffer"]


def test_the_first_word_is_a_command_or_what_follows_check() -> None:
    assert "check" in complete("c")
    assert "--unsafe-fixes" in complete("--un")
    assert "--version" in complete("--ver")
    assert complete("check", "--output-format", "gith") == ["github"]
    assert complete("--output-format", "gith") == ["github"]


def test_no_other_shell() -> None:
    done = subprocess.run([BIN / "statelint", "completion", "cmd"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("statelint: error: Invalid value for")
    assert done.stderr.count("\n") == 1
