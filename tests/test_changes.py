"""Comments written for today's findings."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from statelint.cli import main
from tests.statelint_cli import ROOT

HEAD = "import jax.numpy as jnp\n"
OPTIONS = ("--isolated", "--no-probe")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "train.py"


def ignored(file: Path, source: str, *options: str) -> str:
    """What a file becomes; it is clean then, and stays as it is when asked again."""
    file.write_bytes((HEAD + source).encode())
    options = options or OPTIONS
    assert main([*options, "--add-ignore", file.name]) == 0
    text = file.read_bytes().decode()
    assert main([*options, file.name]) == 0
    assert main([*options, "--add-ignore", file.name]) == 0
    assert file.read_bytes().decode() == text
    return text.removeprefix(HEAD)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'state = {"w": jnp.ones(3), "step": 0}\n',
            'state = {"w": jnp.ones(3), "step": 0}  # statelint: ignore[SL101]\n',
        ),
        (
            'state = {"w": jnp.ones(3), "step": 0}  \r\n',
            'state = {"w": jnp.ones(3), "step": 0}  # statelint: ignore[SL101]  \r\n',
        ),
        (
            'state = {"w": jnp.ones(3), "step": 0, "lr": 0.1}  # type: ignore',
            'state = {"w": jnp.ones(3), "step": 0, "lr": 0.1}  # type: ignore  # statelint: ignore[SL101, SL102]',
        ),
        (
            'state = {"w": jnp.ones(3), "step": 0, "lr": 0.1}  # statelint: ignore[SL102] # why\n',
            'state = {"w": jnp.ones(3), "step": 0, "lr": 0.1}  # statelint: ignore[SL102, SL101] # why\n',
        ),
        (
            'state = {\n    "w": jnp.ones(3),\n    "step": 0,\n}\n',
            'state = {\n    "w": jnp.ones(3),\n    "step": 0,  # statelint: ignore[SL101]\n}\n',
        ),
        (
            'state = {"w": jnp.ones(3), "step": \\\n    0}\n',
            'state = {"w": jnp.ones(3), "step": \\\n    0}  # statelint: ignore[SL101]\n',
        ),
        (
            'if True:\n    state = {"w": jnp.ones(3), "step": 0}; \\\n    x = 1\n',
            'if True:\n    state = {"w": jnp.ones(3), "step": 0}; \\\n    x = 1  # statelint: ignore[SL101]\n',
        ),
        (
            'if True:\n    state = {"w": jnp.ones(3), "step": 0}; x = """\n# a\n"""\n',
            'if True:\n    state = {"w": jnp.ones(3), "step": 0}; x = """\n# a\n"""  # statelint: ignore[SL101]\n',
        ),
    ],
)
def test_where_the_comment_goes(file: Path, before: str, after: str) -> None:
    assert ignored(file, before) == after


def test_what_a_probe_finds_is_ignored_too(file: Path) -> None:
    source = (ROOT / "fixtures/SL304_weak_type_drift/bad.py").read_text()
    text = ignored(file, source, "--isolated", "--python", sys.executable)
    assert "# statelint: ignore[SL304" in text


def test_what_is_to_be_mended(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("x = 1  # statelint: ignore[SL401]\n")
    assert main([*OPTIONS, "--add-ignore", "train.py"]) == 1
    out, err = capsys.readouterr()
    assert out == "Ignored 0 findings in 0 files\n"
    assert err == ("statelint: warning: train.py:1:8: SL901 cannot be ignored: it is to be mended\n")
    file.write_text("def f(:\n")
    assert main([*OPTIONS, "--add-ignore", "train.py"]) == 1
    assert file.read_text() == "def f(:\n"


def test_how_much_was_ignored(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(ROOT / "fixtures/SL103_weak_typed_array/bad.py", file)
    assert main([*OPTIONS, "--add-ignore"]) == 0
    assert capsys.readouterr().out == "Ignored 5 findings in 1 file\n"
