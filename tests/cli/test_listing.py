"""`--show-files` and `--show-settings`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from statelint import rules
from statelint.checks import config_checks

CONFIG = """
[tool.statelint]
ignore = ["SL101"]
extend-select = ["SL104"]
extend-exclude = ["third_party"]
fail-on = "warning"

[[tool.statelint.probe]]
step = "train:step"
state = "train:state"
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    return subprocess.run(
        [sys.executable, "-m", "statelint", *arguments],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    for name in ("b.py", "a.py", "third_party/c.py", "pkg/d.py", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1  # statelint: ignore[SL777]\n")
    return tmp_path


def test_the_files_that_would_be_linted(project: Path) -> None:
    done = run(project, "--show-files")
    assert (done.returncode, done.stdout, done.stderr) == (0, "a.py\nb.py\npkg/d.py\n", "")
    assert run(project, "--show-files", "pkg", "third_party/c.py").stdout == "pkg/d.py\nthird_party/c.py\n"
    assert json.loads(run(project, "--show-files", "--output-format", "json").stdout) == ["a.py", "b.py", "pkg/d.py"]
    linted = json.loads(run(project, "--output-format", "json", "--no-probe").stdout)
    assert sorted({finding["path"] for finding in linted["diagnostics"]}) == ["a.py", "b.py", "pkg/d.py"]


def test_a_folder_without_files(tmp_path: Path) -> None:
    done = run(tmp_path, "--show-files")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "statelint: warning: no Python files found under .\n"


def test_the_list_may_go_to_a_file(project: Path) -> None:
    assert run(project, "--show-files", "--output-file", "list.txt", "pkg").stdout == ""
    assert (project / "list.txt").read_text() == "pkg/d.py\n"


def settings(project: Path, *arguments: str) -> dict[str, tuple[object, str]]:
    done = run(project, "--show-settings", "--output-format", "json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    return {name: (each["value"], each["source"]) for name, each in document["settings"].items()} | {
        "rules": (document["rules"], "")
    }


def test_every_setting_says_where_it_comes_from(project: Path) -> None:
    shown = settings(project)
    assert set(config_checks(rules.names())) < set(shown)
    assert shown["ignore"] == (["SL101"], "pyproject.toml")
    assert shown["fail-on"] == ("warning", "pyproject.toml")  # even when it is the default
    assert shown["select"] == (None, "default")
    assert shown["severity"] == ({}, "default")
    assert shown["config"] == ("pyproject.toml", "default")
    assert shown["python"] == (sys.executable, "default")
    assert shown["no-probe"] == (False, "default")
    ((probe,), source) = shown["probe"]
    assert (probe["name"], probe["step"], source) == ("step", "train:step", "pyproject.toml")
    assert ".git" in shown["exclude"][0]
    assert {"SL102", "SL104"} <= set(shown["rules"][0])
    assert "SL101" not in shown["rules"][0]


def test_options_go_before_the_file_or_add_to_it(project: Path) -> None:
    shown = settings(project, "--ignore", "SL2", "--extend-select", "SL403", "--fail-on", "error", "-q", "--no-probe")
    assert shown["ignore"] == (["SL101", "SL2"], "pyproject.toml, --ignore")
    assert shown["extend-select"] == (["SL104", "SL403"], "pyproject.toml, --extend-select")
    assert shown["fail-on"] == ("error", "--fail-on")
    assert shown["quiet"] == (True, "--quiet")
    assert shown["no-probe"] == (True, "--no-probe")
    alone = settings(project, "--select", "SL4")
    assert (alone["select"], alone["extend-select"]) == ((["SL4"], "--select"), ([], "--select"))
    assert "SL104" not in alone["rules"][0]


def test_no_configuration_and_another(project: Path) -> None:
    (project / "other.toml").write_text("ignore = ['SL3']\n")
    assert settings(project, "--isolated")["ignore"] == ([], "default")
    other = settings(project, "--config", "other.toml")
    assert other["ignore"] == (["SL3"], "other.toml")
    assert other["config"] == ("other.toml", "--config")


def test_the_rules_shown_are_those_that_run(project: Path) -> None:
    rules = settings(project, "--select", "SL9")["rules"][0]
    assert rules == ["SL900", "SL901", "SL902"]
    assert run(project, "--no-probe", "--select", "SL9", "a.py").returncode == 1
    assert run(project, "--no-probe", "--select", "SL4", "a.py").returncode == 0
    assert "SL901" not in settings(project, "--select", "SL4")["rules"][0]


def test_settings_as_text(project: Path) -> None:
    lines = run(project, "--show-settings").stdout.splitlines()
    assert lines[0].split() == ["setting", "from", "value"]
    assert any(re.fullmatch(r'ignore +pyproject\.toml +\["SL101"\]', line) for line in lines)
    assert any(re.fullmatch(r"baseline +default +none", line) for line in lines)
    assert any(re.fullmatch(r"select +default +all but the pedantic ones", line) for line in lines)
    assert any(re.fullmatch(r"probe-memory +default +half of the machine's", line) for line in lines)
    assert lines[-1].startswith("Rules that run: SL102 SL103 SL104 ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--show-files", "--show-settings"], "--show-files does not go with --show-settings"),
        (["--show-files", "nowhere"], "nowhere: no such file or folder"),
        (["--show-files", "--output-format", "github"], "--show-files does not go with --output-format github"),
        (["--show-settings", "--output-format", "github"], "--show-settings does not go with --output-format github"),
        (["--show-settings", "--select", "SL777"], "--select: unknown rule 'SL777'"),
        (["--show-settings", "--python", "nowhere"], "--python: nowhere is not an executable file"),
    ],
)
def test_a_users_error_is_one_line(project: Path, arguments: list[str], line: str) -> None:
    done = run(project, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"statelint: error: {line}")
    assert done.stderr.count("\n") == 1
