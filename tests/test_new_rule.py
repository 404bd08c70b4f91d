"""`make rule`, and the page that leads on from it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.statelint_cli import ROOT

PAGE = (ROOT / "docs/adding-a-rule.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of what the page is about."""
    for name in ("statelint", "tests", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    # A rule that someone tries in this very tree is none of ours.
    for trial in (tmp_path / "statelint/rules").glob("SL99[0-9]_*.py"):
        trial.unlink()
    (tmp_path / "fixtures").mkdir()
    shutil.copytree(ROOT / "fixtures/demo", tmp_path / "fixtures/demo")
    return tmp_path


def run(tree: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def make_rule(tree: Path, code: str, name: str) -> subprocess.CompletedProcess[str]:
    return run(
        tree,
        "make",
        "--silent",
        "--no-print-directory",
        f"PYTHON={sys.executable}",
        "rule",
        f"CODE={code}",
        f"NAME={name}",
    )


def test_the_page_is_true(tree: Path) -> None:
    begin, *said = CONSOLE[0].splitlines()
    code, name = re.fullmatch(r"\$ make rule CODE=(\S+) NAME=(\S+)", begin).groups()  # type: ignore[union-attr]
    assert make_rule(tree, code, name).stdout.splitlines() == said

    explain, lint, test = (line.removeprefix("$ ").split() for line in CONSOLE[1].splitlines())
    explained = run(tree, sys.executable, "-m", *explain)
    assert (explained.returncode, explained.stdout.splitlines()[0]) == (0, f"# {code}: {name}")
    linted = run(tree, sys.executable, "-m", *lint, "--output-format", "concise")
    assert linted.returncode == 1
    first, last = linted.stdout.splitlines()
    assert re.match(rf"fixtures/\S+/bad\.py:\d+:5: {code} ", first)
    assert last == "1 warning in 2 files (2 probes not run)"
    tested = run(tree, sys.executable, "-m", *test, "--rootdir", str(tree), "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_the_page_names_what_there_is() -> None:
    for path in re.findall(r"`((?:statelint|docs|fixtures|tests)/[\w./]+)`", PAGE):
        assert (ROOT / path).exists(), path
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"make (\w+)(?= |`|$)", "\n".join(CONSOLE))) <= targets


@pytest.mark.parametrize(
    ("code", "name", "line"),
    [
        ("SL1", "some-name", "CODE: expected SL and three digits"),
        ("SL900", "some-name", "CODE: expected SL and three digits"),
        ("SL999", "Some_Name", "NAME: expected words in lower case joined by hyphens (shared-buffer), got 'Some_Name'"),
        ("SL401", "some-name", "CODE: SL401 is shared-buffer already"),
        ("SL999", "shared-buffer", "NAME: shared-buffer is SL401 already"),
        ("SL999", "", "usage: make rule CODE=SL999 NAME=some-name"),
    ],
)
def test_what_is_refused(tree: Path, code: str, name: str, line: str) -> None:
    before = sorted(tree.rglob("SL*"))
    done = make_rule(tree, code, name)
    assert done.returncode == 2
    assert line in done.stderr
    assert sorted(tree.rglob("SL*")) == before


def test_it_is_not_written_twice(tree: Path) -> None:
    assert make_rule(tree, "SL999", "some-name").returncode == 0
    assert "CODE: SL999 is some-name already" in make_rule(tree, "SL999", "some-name").stderr
