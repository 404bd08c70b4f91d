"""Comments written for today's findings, and those that have outlived theirs."""

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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1  # statelint: ignore[SL501]\n", "a = 1\n"),
        ("a = 1  # statelint: ignore[SL501, SL101]\n", "a = 1  # statelint: ignore[SL101]\n"),
        ("a = 1  # statelint: ignore[jit-per-call, SL5, SL999]  \r\n", "a = 1\r\n"),
        ("a = 1  # noqa: E501, SL501\n", "a = 1  # noqa: E501\n"),
        ("a = 1  # noqa: SL501  # type: ignore\n", "a = 1  # type: ignore\n"),
        ("a = 'ö'  # why  # statelint: ignore[SL501] since then\n", "a = 'ö'  # why  # since then\n"),
        ("# statelint: ignore-file[SL501]\na = 1\n", "a = 1\n"),
        ("# statelint: ignore-file[SL501]", ""),
        ("def f():\n    # statelint: ignore[SL501]\n    return 1", "def f():\n    return 1"),
        ("a = 1\n# statelint: ignore[SL501]\n", "a = 1\n"),
        ("a = 1\n# statelint: ignore[SL501]", "a = 1"),
        ("a = 1  # statelint: ignore[SL101]\n", "a = 1  # statelint: ignore[SL101]\n"),  # a probe may find that
        ("a = 1  # statelint: ignore\n", "a = 1  # statelint: ignore\n"),
    ],
)
def test_comments_that_silence_nothing_are_removed(file: Path, before: str, after: str) -> None:
    file.write_bytes(before.encode())
    assert main([*OPTIONS, "--fix", "--exit-zero", "train.py"]) == 0
    assert file.read_bytes().decode() == after


def test_what_is_said_to_be_fixable_is_fixed(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("a = 1  # statelint: ignore[SL501]\nb = 1  # statelint: ignore[SL101]\n")
    assert main(["--isolated", "train.py"]) == 1
    assert "1 fixable with --fix" in capsys.readouterr().out
    assert main(["--isolated", "--fix", "train.py"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("train.py:2:8: SL901")
    assert "fixable" not in out
