"""What docs/usage.md says of the command line is so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from statelint.cli.check import command

USAGE = (Path(__file__).parent.parent / "docs/usage.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", USAGE, re.DOTALL)

TRAIN = """import jax.numpy as jnp


def create_state(params):
    return {"params": params, "loss": jnp.asarray(0.0)}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "pyproject.toml").write_text('[tool.statelint]\nignore = ["SL403"]\n')
    return tmp_path


def shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "NO_COLOR": "1"}
    env.pop("FORCE_COLOR", None)
    return subprocess.run(line, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("line", "shown"), CONSOLE)
def test_output_is_real(folder: Path, line: str, shown: str) -> None:
    assert shell(line, folder).stdout == shown


def test_all_options_are_named_and_no_others() -> None:
    options = {name for option in command.params for name in option.opts if name.startswith("-")}
    listed = re.findall(r"^\| (`-.*?) \|", USAGE, re.MULTILINE)
    assert {name for cell in listed for name in re.findall(r"`(--?[\w-]+)", cell)} == options | {"-h", "--help"}


@pytest.mark.parametrize(
    ("line", "code"),
    [("statelint --fail-on error", 0), ("statelint", 1), ("statelint nowhere", 2), ("statelint --no-such-option", 2)],
)
def test_exit_codes(folder: Path, line: str, code: int) -> None:
    assert shell(line, folder).returncode == code


def test_the_cache_is_where_it_is_said_to_be(folder: Path) -> None:
    shell("statelint --no-cache", folder)
    assert not (folder / ".statelint_cache").exists()
    shell("statelint", folder)
    assert (folder / ".statelint_cache").is_dir()
    shell("statelint clean", folder)
    assert not (folder / ".statelint_cache").exists()
    shell("statelint --cache-dir kept", folder)
    assert (folder / "kept").is_dir()


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", USAGE):
        assert (Path(__file__).parent.parent / "docs" / link).is_file(), link
