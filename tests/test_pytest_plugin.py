from __future__ import annotations

import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

GOOD = """\
import jax.numpy as jnp
from statelint import Probe

def step(state):
    return state + 1

count = Probe(step=step, state=lambda: jnp.zeros((), jnp.int32))
"""

WEAK = """\
import jax.numpy as jnp
from statelint import Probe

def create():
    return {"w": jnp.zeros(3), "step": 0}

def step(state):
    return {"w": state["w"] * 0.5, "step": state["step"] + 1}

weak = Probe(step=step, state=create)
"""

TABLE = """\
[[tool.statelint.probe]]
name = "table"
step = "weak:step"
state = "weak:create"
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "weak.py").write_text(WEAK)
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n")
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-p no:cacheprovider"\n')
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # By its module's name, so that it is this one, wherever statelint is installed or not.
    plugin = ["-p", "no:statelint", "-p", "statelint.pytest_plugin"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def outcomes(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Of a run with `-rA`: what became of each test."""
    return {name: outcome for outcome, name in re.findall(r"^(PASSED|FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)}


def test_each_declared_probe_is_a_test(project: Path) -> None:
    done = run(project, "--statelint", "-rA")
    assert done.returncode == 1
    assert outcomes(done) == {
        "good.py::count": "PASSED",
        "weak.py::weak": "FAILED",
        "test_own.py::test_own": "PASSED",
    }


def test_a_failure_is_what_statelint_says(project: Path) -> None:
    done = run(project, "--statelint", "weak.py")
    assert re.search(r"^_+ probe weak _+$", done.stdout, re.MULTILINE)
    assert re.search(
        r"^weak\.py:5:\d+: SL101 \[warning\] state\['step'\] starts as a Python int", done.stdout, re.MULTILINE
    )
    assert '5 |     return {"w": jnp.zeros(3), "step": 0}' in done.stdout
    assert "Traceback" not in done.stdout
    assert "pytest_plugin.py" not in done.stdout


def test_a_failure_reads_as_it_does_in_a_run(project: Path) -> None:
    (project / "weak.py").write_text(WEAK.replace("create", "create_state"))
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "statelint", "weak.py"]
    shown = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False).stdout
    finding = shown.partition("\n\n")[0]
    assert "= seen: in the source, and confirmed by probe weak" in finding
    assert "= fix (--fix): " in finding
    assert finding in run(project, "--statelint", "weak.py").stdout


def test_what_the_source_alone_shows_is_not_said_of_a_probe(project: Path) -> None:
    with (project / "good.py").open("a") as file:
        file.write("\n\ndef create_state():\n    zeros = jnp.zeros(3)\n    return {'mu': zeros, 'nu': zeros}\n")
    assert outcomes(run(project, "--statelint", "-rA", "good.py")) == {"good.py::count": "PASSED"}


def test_traces_are_kept(project: Path) -> None:
    with (project / "good.py").open("a") as file:
        # pytest imports a file that is named, too.
        file.write("import sys\nif 'pytest' not in sys.modules:\n    open('runs', 'a').write('once')\n")
    for _ in range(2):
        assert outcomes(run(project, "--statelint", "-rA", "good.py")) == {"good.py::count": "PASSED"}
    assert (project / "runs").read_text() == "once"


def test_without_the_option_nothing_is_collected(project: Path) -> None:
    done = run(project, "-rA")
    assert outcomes(done) == {"test_own.py::test_own": "PASSED"}


def test_without_the_option_next_to_nothing_is_imported() -> None:
    heavy = ("jax", "numpy", "libcst", "msgspec", "statelint.linter", "statelint.config", "statelint.model")
    code = f"import sys, pytest, statelint.pytest_plugin; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_jax_stays_out_of_the_process_of_pytest(project: Path) -> None:
    (project / "conftest.py").write_text(
        "import sys\ndef pytest_sessionfinish():\n    print('JAX' if 'jax' in sys.modules else 'NO JAX')\n"
    )
    done = run(project, "--statelint", "-s", "--ignore", "test_own.py", ".")
    assert "NO JAX" in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def test_all_probes_are_one_run(project: Path) -> None:
    for name in ("good.py", "weak.py"):
        with (project / name).open("a") as file:
            file.write("open('pids', 'a').write(f'{__import__(\"os\").getpid()}\\n')\n")
    run(project, "--statelint")
    pids = (project / "pids").read_text().split()
    assert len(pids) == 2
    assert len(set(pids)) == 1


class TestConfiguration:
    @pytest.fixture
    def project(self, project: Path) -> Path:
        with (project / "pyproject.toml").open("a") as file:
            file.write(TABLE)
        return project

    def test_its_probes_are_tests(self, project: Path) -> None:
        assert outcomes(run(project, "--statelint", "-rA"))["pyproject.toml::table"] == "FAILED"

    def test_also_where_testpaths_leave_it_out(self, project: Path) -> None:
        done = run(project, "--statelint", "-rA", "-o", "testpaths=test_own.py")
        assert outcomes(done) == {"test_own.py::test_own": "PASSED", "pyproject.toml::table": "FAILED"}

    def test_not_where_another_file_is_named(self, project: Path) -> None:
        assert outcomes(run(project, "--statelint", "-rA", "good.py")) == {"good.py::count": "PASSED"}

    def test_where_the_module_of_its_step_is_named(self, project: Path) -> None:
        done = run(project, "--statelint", "-rA", "weak.py")
        assert outcomes(done) == {"weak.py::weak": "FAILED", "pyproject.toml::table": "FAILED"}

    @pytest.fixture
    def layout(self, project: Path) -> Path:
        """The project with its modules in `src`."""
        (project / "src").mkdir()
        for name in ("good.py", "weak.py"):
            (project / name).rename(project / "src" / name)
        return project

    @pytest.mark.parametrize(
        ("where", "arguments"), [(".", ["src"]), ("src", []), ("src", ["."]), ("src", ["weak.py"])]
    )
    def test_a_folder_is_about_what_it_is_for_statelint(self, layout: Path, where: str, arguments: list[str]) -> None:
        done = run(layout / where, "--statelint", "-rA", *arguments)
        command = [sys.executable, "-m", "statelint", "--output-format", "json", *arguments]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        lint = subprocess.run(command, cwd=layout / where, env=env, capture_output=True, text=True, check=False)
        probes = sorted(probe["name"] for probe in json.loads(lint.stdout)["checked"]["probes"])
        assert "table" in probes
        assert sorted(name.partition("::")[2] for name in outcomes(done)) == probes

    def test_all_are_counted(self, layout: Path) -> None:
        done = run(layout / "src", "--statelint", "--collect-only", "-q")
        assert len(re.findall(r"^\S+::\w+$", done.stdout, re.MULTILINE)) == 3
        assert "3 tests collected" in done.stdout

    def test_one_can_be_run_by_its_name(self, project: Path) -> None:
        done = run(project, "--statelint", "-rA", "pyproject.toml::table")
        assert outcomes(done) == {"pyproject.toml::table": "FAILED"}

    def test_k_chooses_among_them(self, project: Path) -> None:
        assert outcomes(run(project, "--statelint", "-rA", "-k", "table or own")) == {
            "test_own.py::test_own": "PASSED",
            "pyproject.toml::table": "FAILED",
        }

    def test_xdist_runs_each_once(self, project: Path) -> None:
        done = run(project, "--statelint", "-rA", "-n", "2")
        assert outcomes(done) == {
            "good.py::count": "PASSED",
            "weak.py::weak": "FAILED",
            "test_own.py::test_own": "PASSED",
            "pyproject.toml::table": "FAILED",
        }
        assert "3 passed" not in done.stdout
        assert "2 failed, 2 passed" in done.stdout

    def test_xdist_heeds_what_is_named(self, project: Path) -> None:
        done = run(project, "--statelint", "-rA", "-n", "2", "-o", "testpaths=test_own.py")
        assert outcomes(done) == {"test_own.py::test_own": "PASSED", "pyproject.toml::table": "FAILED"}
        assert outcomes(run(project, "--statelint", "-rA", "-n", "2", "good.py")) == {"good.py::count": "PASSED"}

    @pytest.mark.parametrize(
        ("setting", "outcome"),
        [('fail-on = "error"', "PASSED"), ('ignore = ["SL101"]', "PASSED"), ("", "FAILED")],
    )
    def test_its_settings_hold(self, project: Path, setting: str, outcome: str) -> None:
        (project / "pyproject.toml").write_text(f"[tool.statelint]\n{setting}\n")
        assert outcomes(run(project, "--statelint", "-rA", "weak.py")) == {"weak.py::weak": outcome}

    def test_what_it_excludes_is_not_collected(self, project: Path) -> None:
        (project / "pyproject.toml").write_text('[tool.statelint]\nexclude = ["weak.py"]\n')
        assert "weak.py::weak" not in outcomes(run(project, "--statelint", "-rA"))

    def test_a_fault_in_it_is_one_line(self, project: Path) -> None:
        (project / "pyproject.toml").write_text("[tool.statelint]\nselct = []\n")
        done = run(project, "--statelint")
        assert done.returncode == pytest.ExitCode.USAGE_ERROR
        assert done.stderr.strip() == "ERROR: pyproject.toml: tool.statelint.selct: unknown key (did you mean select?)"


def test_a_comment_silences(project: Path) -> None:
    text = WEAK.replace('"step": 0}', '"step": 0}  # statelint: ignore[SL101]')
    (project / "weak.py").write_text(text)
    assert outcomes(run(project, "--statelint", "-rA", "weak.py")) == {"weak.py::weak": "PASSED"}


def test_a_probe_that_fails_says_why(project: Path) -> None:
    (project / "weak.py").write_text(WEAK.replace('state["step"] + 1', 'state["stop"] + 1'))
    done = run(project, "--statelint", "-rA", "weak.py")
    assert outcomes(done) == {"weak.py::weak": "FAILED"}
    assert re.search(r"^weak\.py:8:\d+: SL902 \[error\] not traced: KeyError: 'stop'", done.stdout, re.MULTILINE)


def test_the_package_declares_it() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        declared = tomllib.load(file)["project"]["entry-points"]["pytest11"]
    assert declared == {"statelint": "statelint.pytest_plugin"}
    installed = {point.name: point.value for point in importlib.metadata.entry_points(group="pytest11")}
    assert installed.get("statelint", declared["statelint"]) == declared["statelint"]
