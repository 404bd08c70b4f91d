"""docs/ci.md: its workflows are what their schemas ask for, and their commands do what the page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.blocks import blocks, links
from tests.statelint_cli import ROOT

BAD = """\
import jax.numpy as jnp
from statelint import Probe


def init_state():
    return {"total": jnp.zeros((), jnp.int32)}


def step(state):
    return {"total": state["total"] + 1.5}


train = Probe(step=step, state=init_state)
"""
GOOD = BAD.replace("1.5", "1")
PAGES = blocks("ci.md", "yaml")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(BAD)
    return tmp_path


def bash(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A step, run as a runner does."""
    env = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "VIRTUAL_ENV")}
    env |= {"PATH": os.pathsep.join([str(Path(sys.executable).parent), env["PATH"]]), "RUNNER_TEMP": str(folder)}
    return subprocess.run(["bash", "-ec", script], cwd=folder, env=env, capture_output=True, text=True, check=False)


def workflow_steps() -> dict[str, str]:
    """What each named step of the workflow runs."""
    (job,) = yaml.safe_load(PAGES["GitHub Actions"])["jobs"].values()
    return {step["name"]: step["run"] for step in job["steps"] if "name" in step}


def gitlab_job() -> dict[str, Any]:
    (job,) = yaml.safe_load(PAGES["GitLab"]).values()
    return dict(job)


@pytest.mark.parametrize(
    ("heading", "schema"),
    [("GitHub Actions", "vendor.github-workflows"), ("GitLab", "vendor.gitlab-ci")],
)
def test_the_workflows_are_well_formed(tmp_path: Path, heading: str, schema: str) -> None:
    (tmp_path / "ci.yml").write_text(PAGES[heading], encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, "ci.yml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_is_installed_is_this_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for script in (workflow_steps()["Install the project and statelint"], gitlab_job()["script"][0]):
        ((name, extra),) = re.findall(r"^python -m pip install \. '([\w-]+)\[(\w+)\]'$", script)
        assert name == project["name"]
        assert extra in project["optional-dependencies"]


def test_the_matcher_is_added(project: Path) -> None:
    done = bash(workflow_steps()["Show findings at their lines"], project)
    (file,) = re.findall(r"^::add-matcher::(.+)$", done.stdout)
    assert json.loads(Path(file).read_text(encoding="utf-8"))["problemMatcher"]


def test_the_workflow_fails_for_findings_and_uploads_them_all_the_same(project: Path) -> None:
    steps = workflow_steps()
    lint, sarif = bash(steps["Lint"], project), bash(steps["Write the SARIF report"], project)
    assert lint.returncode == 1
    assert re.search(r"^train\.py:10:\d+: SL302 \[error\] ", lint.stdout, re.MULTILINE)
    assert (sarif.returncode, sarif.stdout) == (0, "")
    (job,) = yaml.safe_load(PAGES["GitHub Actions"])["jobs"].values()
    after = [step for step in job["steps"] if step.get("if") == "always()"]
    assert len(after) == 2
    (results,) = (run["results"] for run in json.loads((project / after[1]["with"]["sarif_file"]).read_text())["runs"])
    assert [result["ruleId"] for result in results] == ["SL302"]
    (project / "train.py").write_text(GOOD)
    assert bash(steps["Lint"], project).returncode == 0


def test_the_gitlab_job_fails_for_findings_and_hands_them_over(project: Path) -> None:
    job = gitlab_job()
    report, lint = (bash(command, project) for command in job["script"][1:])
    assert (report.returncode, lint.returncode) == (0, 1)
    assert "SL302 [error]" in lint.stdout
    assert job["artifacts"]["when"] == "always"
    found = json.loads((project / job["artifacts"]["reports"]["codequality"]).read_text())
    assert [(entry["check_name"], entry["location"]["path"]) for entry in found] == [("dtype-drift", "train.py")]


def test_links_lead_somewhere() -> None:
    for page in ("ci.md", "editors.md"):
        for link in links(page):
            assert (ROOT / "docs" / link).is_file(), link
