"""A project whose findings editors are to show: of every severity, in files with odd names."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from statelint.diagnostics import Severity

TRAIN = """\
import jax.numpy as jnp


def init_state():
    zeros = jnp.zeros(3)
    return {"mu": zeros, "nu": zeros, "step": 0, "note": "größer", "loss": jnp.asarray(
        0.0
    )}
"""

NAMES = (
    "train.py",
    "C:\\work\\train.py",
    "odd folder/x:1:2 [error] é (1).py",
    "pkg/deep/a-b,c.py",
)

CONFIG = '[tool.statelint.severity]\nSL401 = "error"\nSL101 = "warning"\nSL103 = "info"\n'


class Finding(NamedTuple):
    path: str
    line: int
    column: int
    code: str
    severity: str
    message: str


def environment() -> dict[str, str]:
    """In which `statelint` is the one under test, and nothing paints."""
    kept = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "VIRTUAL_ENV")}
    return {**kept, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}


def run(folder: Path, *command: str, text: str = "") -> str:
    """What a command prints; its exit code may say that something was found."""
    done = subprocess.run(
        command, cwd=folder, env=environment(), input=text, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def set_up(editor: str) -> str:
    """What `statelint editor` prints."""
    return run(Path.cwd(), "statelint", "editor", editor)


def make(folder: Path) -> Path:
    """Write the project."""
    (folder / "pyproject.toml").write_text(CONFIG, encoding="utf-8")
    for name in NAMES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TRAIN, encoding="utf-8")
    return folder


def expected(folder: Path, *arguments: str) -> list[Finding]:
    """What statelint finds there, in the words of its JSON."""
    report = json.loads(run(folder, "statelint", *arguments, "--output-format", "json"))
    found = [Finding(*(entry[name] for name in Finding._fields)) for entry in report["diagnostics"]]
    assert {finding.severity for finding in found} == {severity.value for severity in Severity}
    assert any(entry["end_line"] > entry["line"] for entry in report["diagnostics"])
    return found


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")
