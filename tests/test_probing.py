"""What a probe traced holds until something that it was traced from changes."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from statelint.cli import main

HELPER = """\
import jax.numpy as jnp


def init():
    return {"step": jnp.zeros((), jnp.int32)}
"""

TRAIN = """\
from helper import init
from statelint import Probe

with open("imports.txt", "a") as stream:
    stream.write("x")


def step(state):
    return {"step": state["step"] + 1}


train = Probe(step=step, state=init)
"""


class Project:
    """A project whose file says each time that it is imported."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def run(self, *options: str) -> tuple[int, dict[str, Any]]:
        """How often it was imported, and the report."""
        code = main(["--output-format", "json", "--python", sys.executable, *options])
        out, err = self.capsys.readouterr()
        assert (code in (0, 1), err) == (True, "")
        log = self.folder / "imports.txt"
        imported = len(log.read_text()) if log.exists() else 0
        log.unlink(missing_ok=True)
        return imported, json.loads(out)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Project:
    made = Project(tmp_path, capsys)
    made.write("pyproject.toml", "[tool.statelint]\n")
    made.write("helper.py", HELPER)
    made.write("train.py", TRAIN)
    monkeypatch.chdir(tmp_path)
    return made


def test_a_probe_is_traced_once(project: Project) -> None:
    first = project.run()
    assert first[0] == 1
    assert first[1]["checked"]["probes"][0]["executables"] == {"loop": 1, "restore": 0}
    assert project.run() == (0, first[1])
    assert project.run("--no-cache") == first
    assert project.run("train.py") == (0, first[1] | {"checked": first[1]["checked"] | {"files": 1}})


def test_it_is_traced_again_when_a_file_that_it_imports_changes(project: Project) -> None:
    project.run()
    project.write("helper.py", HELPER.replace("jnp.zeros((), jnp.int32)", "jnp.asarray(0)"))
    imported, report = project.run()
    assert imported == 1
    assert [each["code"] for each in report["diagnostics"]] == ["SL103"]
    project.write("data.txt", "1")
    assert project.run()[0] == 0
    project.write("other.py", "import jax\n")
    assert project.run()[0] == 1, "it may be what an import found missing"
    project.write("train.py", TRAIN.replace("+ 1", "+ 2"))
    assert project.run()[0] == 1


def test_it_is_traced_again_under_other_conditions(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.run()
    assert project.run("--restore", "flax")[0] == 1
    assert project.run("--measure")[0] == 1
    assert project.run("--measure")[0] == 1
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    assert project.run()[0] == 1


def test_names_are_not_part_of_what_was_traced(project: Project) -> None:
    project.write("helper.py", HELPER.replace("jnp.zeros((), jnp.int32)}", 'jnp.zeros((), jnp.int32), "n": 0}'))
    project.write("train.py", TRAIN.replace("+ 1", '+ 1, "n": state["n"] + 1'))
    assert [each["code"] for each in project.run()[1]["diagnostics"]] == ["SL102"]
    project.write("pyproject.toml", "[tool.statelint]\ncounter-names = ['n']\n")
    imported, report = project.run()
    assert imported == 0
    assert [each["code"] for each in report["diagnostics"]] == ["SL101"]


def test_a_probe_of_the_configuration(project: Project) -> None:
    table = '[[tool.statelint.probe]]\nname = "table"\nstep = "train:step"\nstate = "helper:init"\n'
    project.write("train.py", TRAIN.replace("train = Probe(step=step, state=init)\n", ""))
    project.write("pyproject.toml", table)
    assert [project.run()[0] for _ in range(2)] == [1, 0]
    project.write("pyproject.toml", table.replace('"helper:init"', '"helper:init"\nx64 = true'))
    assert [project.run()[0] for _ in range(2)] == [1, 0]


def test_probes_of_one_line(project: Project) -> None:
    project.write(
        "train.py",
        TRAIN.replace("train = Probe(step=step, state=init)", "probes = [Probe(step=step, state=init) for _ in 'ab']"),
    )
    first = project.run()
    assert first[0] == 1
    assert len(first[1]["checked"]["probes"]) == 2
    assert project.run() == (0, first[1])


def test_what_failed_is_tried_again(project: Project) -> None:
    project.write(
        "train.py", TRAIN.replace("def step", "if not __import__('os').path.exists('data'): raise OSError\ndef step")
    )
    imported, report = project.run()
    assert (imported, [each["code"] for each in report["diagnostics"]]) == (1, ["SL902"])
    project.write("data", "")
    imported, report = project.run()
    assert (imported, report["diagnostics"]) == (1, [])


def test_an_installed_package_that_is_upgraded(project: Project) -> None:
    installed = project.folder / "lib" / "site-packages"
    installed.mkdir(parents=True)
    project.write("lib/site-packages/helper.py", HELPER)
    (project.folder / "helper.py").unlink()
    project.write("train.py", "import sys\nsys.path.append('lib/site-packages')\n" + TRAIN)
    assert [project.run()[0] for _ in range(2)] == [1, 0]
    os.utime(installed / "helper.py", (1, 1))
    assert [project.run()[0] for _ in range(2)] == [1, 0]


def test_a_file_that_changes_while_it_is_traced(project: Project) -> None:
    meddling = "import time\nfrom pathlib import Path\ntime.sleep(0.1)\nPath('helper.py').touch()\n"
    project.write("train.py", TRAIN.replace("def step", f"{meddling}def step"))
    assert [project.run()[0] for _ in range(2)] == [1, 1]
