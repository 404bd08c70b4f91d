"""`make bench` prints its table: every row, with figures in it. What the figures are is not for a test to say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.peers import VERSIONS
from benchmarks.table import HEAD, Row, line

ROOT = Path(__file__).parent.parent
WORK = {
    "cold, JAX corpus": ("ruff", "flake8", "jaxlint"),
    "cold, part of the JAX corpus": ("fixit", "pylint"),
    "cold, general corpus": ("ruff",),
    "warm, JAX corpus": ("ruff, warm",),
    "5 changed files": ("flake8",),
    "peak memory": ("flake8",),
    "growth": ("the line",),
    "a probe": ("`eval_shape` in a bare process", "`eval_shape`"),
}
FIGURE = re.compile(r"\d+\.\d\d s|\d+ MB")


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.bench", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)


def table(text: str) -> list[list[str]]:
    """The rows of the table of ratios, which its head begins and an empty line ends."""
    _, head, rest = text.partition(f"{line(HEAD)}\n")
    assert head
    rows = [row.strip("| ").split(" | ") for row in rest.partition("\n\n")[0].splitlines()]
    return rows[1:]


def test_a_quick_look_has_every_row(tmp_path: Path) -> None:
    run = bench("--quick", "--folder", str(tmp_path))
    assert run.returncode == 0, run.stderr
    rows = table(run.stdout)
    for work, peers in WORK.items():
        for peer in peers:
            found = [row for row in rows if row[0].startswith(work) and row[1].startswith(peer)]
            assert found, (work, peer)
    for _, _, theirs, ours, ratio, at_most, reached in rows:
        assert FIGURE.fullmatch(theirs)
        assert FIGURE.fullmatch(ours)
        assert float(ratio) > 0
        assert float(at_most) > 0
        assert reached in ("yes", "**no**")
    installed = {file.name.partition("-")[0] for file in tmp_path.glob("peers/lib/*/site-packages/*.dist-info")}
    assert installed >= set(VERSIONS)


@pytest.mark.parametrize(("ours", "reached"), [(2.0, "yes"), (2.1, "**no**")])
def test_a_row_says_whether_its_reach_is_met(ours: float, reached: str) -> None:
    assert Row("work", "peer", 1.0, ours, at_most=2).cells()[-1] == reached


def test_the_results_are_a_table_of_the_bench() -> None:
    results = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")
    assert {row[1] for row in table(results)} >= {"ruff", "ruff, warm", "flake8", "jaxlint", "fixit", "pylint"}
