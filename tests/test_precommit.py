"""The hooks, as the real pre-commit runs them on a real repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import blocks

ROOT = Path(__file__).parent.parent
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]

SHARED = """
import jax.numpy as jnp


def init_state():
    zeros = jnp.zeros(3)
    return {"mu": zeros, "nu": zeros}
"""

DRIFTING = """
import jax.numpy as jnp


def make():
    return {"total": jnp.zeros((), jnp.int32)}


def step(state):
    return {"total": state["total"] + 1.5}
"""

PROBE = '[[tool.statelint.probe]]\nname = "sum"\nstep = "sums:step"\nstate = "sums:make"\n'

SHOWN = blocks("ci.md", "yaml")
"""The configurations in the documentation, by the headings that they stand under."""


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run([*GIT, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def commit(folder: Path) -> str:
    if not (folder / ".git").exists():
        git(folder, "init", "-q", ".")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "all", "--no-verify", "--allow-empty")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with what pre-commit needs of this one."""
    folder = tmp_path_factory.mktemp("hooks")
    shutil.copytree(ROOT / "statelint", folder / "statelint", ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    commit(folder)
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pre-commit-home")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "shared.py").write_text(SHARED)
    (tmp_path / "sums.py").write_text(DRIFTING)
    (tmp_path / "pyproject.toml").write_text(PROBE)
    (tmp_path / "notes.md").write_text("# notes\n")
    return tmp_path


def run_hook(project: Path, hooks: Path, home: Path, hook: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a hook by the configuration that the documentation shows for it; only where it is from is another place."""
    configs = [yaml.safe_load(text) for heading, text in SHOWN.items() if heading.startswith("pre-commit")]
    (config,) = (each for each in configs if each["repos"][0]["hooks"] == [{"id": hook}])
    config["repos"][0].update(repo=str(hooks), rev=git(hooks, "rev-parse", "HEAD"))
    (project / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    commit(project)
    scripts = str(Path(sys.executable).parent)
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_") and name != "VIRTUAL_ENV"},
        "PRE_COMMIT_HOME": str(home),
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
    }
    command = [sys.executable, "-m", "pre_commit", "run", hook, "--color", "never", *arguments]
    return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)


def test_the_source_hook_reads_only_the_files_it_is_given(project: Path, hooks: Path, home: Path) -> None:
    done = run_hook(project, hooks, home, "statelint", "--all-files")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "shared.py:7:32: SL401 [warning]" in done.stdout
    assert "1 warning in 2 files (1 probe not run)" in done.stdout
    done = run_hook(project, hooks, home, "statelint", "--files", "sums.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


def test_no_python_files_is_a_clean_exit(project: Path, hooks: Path, home: Path) -> None:
    done = run_hook(project, hooks, home, "statelint", "--files", "notes.md")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Skipped" in done.stdout


def test_the_probe_hook_runs_when_only_the_configuration_changed(project: Path, hooks: Path, home: Path) -> None:
    done = run_hook(project, hooks, home, "statelint-probe", "--files", "pyproject.toml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "SL302 [error] state['total']" in done.stdout


def test_the_probe_hook_runs_in_the_projects_environment(project: Path, hooks: Path, home: Path) -> None:
    done = run_hook(project, hooks, home, "statelint-probe", "--all-files")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "SL302 [error] state['total']" in done.stdout
    assert "in 2 files, 1 probe" in done.stdout
    (project / "sums.py").write_text(DRIFTING.replace("1.5", "1"))
    (project / "shared.py").write_text("")
    done = run_hook(project, hooks, home, "statelint-probe", "--all-files")
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_to_check_is_clean_when_the_hook_always_runs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "statelint", "check", "--no-probe"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "Nothing to check: no Python files\n")
