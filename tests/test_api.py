"""`assert_stable` and `check`, called as a test of a project calls them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

WEAK = """\
import jax.numpy as jnp

def create():
    return {"w": jnp.zeros(3), "step": 0}

def train_step(state):
    return {"w": state["w"] * 0.5, "step": state["step"] + 1}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "weak.py").write_text(WEAK)
    return tmp_path


def failure(project: Path, call: str) -> list[str]:
    """What a test that makes this call fails with; nothing when it passes."""
    (project / "test_weak.py").write_text(
        f"import statelint\nfrom weak import create, train_step\n\ndef test_it():\n    {call}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", ".", "test_weak.py"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = re.findall(r"^E +(.*)$", done.stdout, re.MULTILINE)
    assert done.returncode == bool(lines), done.stdout + done.stderr
    return lines


STABLE = "statelint.assert_stable(train_step, create)"


def test_each_finding_has_its_line(project: Path) -> None:
    headline, finding, page = failure(project, STABLE)
    assert headline == "AssertionError: 1 finding in the state of train_step:"
    assert finding.startswith("weak.py:4: SL101 [warning] state['step'] starts as a Python int")
    assert page == "more: statelint rule SL101"


def test_several(project: Path) -> None:
    text = WEAK.replace('"step": 0}', '"step": 0, "loss": jnp.asarray(0.0)}')
    (project / "weak.py").write_text(text.replace("+ 1}", '+ 1, "loss": jnp.float32(1)}'))
    headline, *lines = failure(project, STABLE)
    assert headline == "AssertionError: 2 findings in the state of train_step:"
    assert [line for line in lines if line.startswith("more")] == [
        "more: statelint rule SL101",
        "more: statelint rule SL304",
    ]


@pytest.mark.parametrize(
    "setting",
    [
        'ignore = ["SL101"]',
        'select = ["SL3"]',
        'fail-on = "error"',
        'severity = {SL101 = "info"}',
        'per-file-ignores = {"weak.py" = ["python-step-counter"]}',
    ],
)
def test_the_configuration_holds(project: Path, setting: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.statelint]\n{setting}\n")
    assert failure(project, STABLE) == []


def test_a_rule_that_is_selected_runs(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.statelint]\nextend-select = ["SL403"]\nfail-on = "info"\n')
    (project / "weak.py").write_text(WEAK.replace("def train_step", "import jax\n@jax.jit\ndef train_step"))
    assert "more: statelint rule SL403" in failure(project, STABLE)


def test_a_comment_silences(project: Path) -> None:
    (project / "weak.py").write_text(WEAK.replace('"step": 0}', '"step": 0}  # statelint: ignore[SL101]'))
    assert failure(project, STABLE) == []


def test_the_baseline_holds(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.statelint]\nbaseline = "known.json"\n')
    (project / "known.json").write_text('{"version": 1, "findings": {"weak.py": {"SL101": 1}}}')
    assert failure(project, STABLE) == []


def test_a_call_may_ignore_rules(project: Path) -> None:
    assert failure(project, "statelint.assert_stable(train_step, create, ignore=('SL101',))") == []
    assert failure(project, "assert not statelint.check(train_step, create, ignore=['python-step-counter'])") == []
    (line,) = failure(project, "statelint.assert_stable(train_step, create, ignore=['SL777'])")
    assert "unknown rule 'SL777'" in line


@pytest.mark.parametrize("name", ["check", "assert_stable", "trace"])
def test_a_wrong_option_names_what_was_called(project: Path, name: str) -> None:
    (line,) = failure(project, f"statelint.{name}(train_step, create, return_=0)")
    assert line.startswith(f"TypeError: {name}() got an unexpected keyword argument 'return_'")
