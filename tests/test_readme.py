"""Everything that the README shows is real: its code runs, and its output is what the command prints."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.modules import load
from tests.reality import measure_probe

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the file that the README shows, and the demo."""
    ((name, code),) = re.findall(r"This `(\w+\.py)` looks right:\n\n```python\n(.*?)```", README, re.DOTALL)
    (tmp_path / name).write_text(code, encoding="utf-8")
    shutil.copytree(ROOT / "fixtures/demo", tmp_path / "fixtures/demo", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def shell(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "NO_COLOR": "1"}
    env.pop("FORCE_COLOR", None)
    return subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(("command", "shown"), CONSOLE)
def test_output_is_real(folder: Path, command: str, shown: str) -> None:
    assert shell(command, folder) == shown


def test_what_goes_wrong_without_statelint(folder: Path) -> None:
    code = "import jax.numpy as jnp, train\n"
    code += "p = {'w': jnp.ones((512, 512)), 'b': jnp.ones(512)}\n"
    code += "train.train_step(train.create_state(p), p, jnp.float32(1))"
    run = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    (sentence,) = re.findall(r"it fails at the first call: `(.*?)`", README)
    assert sentence in run.stderr


def test_the_demo_has_findings_of_either_detector_and_of_both(folder: Path) -> None:
    seen = set(re.findall(r"= seen: (.*)", shell("statelint", folder / "fixtures/demo")))
    assert {"in the source", "by probe train", "in the source, and confirmed by probe train"} <= seen


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / link).is_file(), link


def test_the_configuration_shown_is_accepted(folder: Path) -> None:
    (toml,) = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    assert tomllib.loads(toml)["tool"]["statelint"]["probe"]
    (folder / "pyproject.toml").write_text(toml, encoding="utf-8")
    assert shell("statelint --no-probe --output-format concise train.py", folder).endswith("(2 probes not run)\n")


def test_the_assertion_shown_holds_for_a_stable_step_and_fails_for_this_one(folder: Path) -> None:
    (test,) = re.findall(r"```python\n(from statelint import assert_stable.*?)```", README, re.DOTALL)
    tree = '{"w": "f32[512,512]", "b": "f32[512]"}'
    setup = f"from train import create_state, train_step\nparams = grads = {tree}\nloss = 'f32[]'\n"
    (folder / "test_shown.py").write_text(setup + test, encoding="utf-8")
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider test_shown.py"
    failed = shell(command, folder)
    assert "3 findings in the state of train_step:" in failed
    assert "1 failed" in failed
    mended = (folder / "train.py").read_text(encoding="utf-8")
    mended = mended.replace('"nu": zeros', '"nu": jax.tree.map(jnp.copy, zeros)')
    mended = mended.replace('"step": 0', '"step": jnp.zeros((), jnp.int32)').replace("asarray(0.0)", "float32(0)")
    (folder / "train.py").write_text(mended, encoding="utf-8")
    assert "1 passed" in shell(command, folder)


def test_the_executables_that_it_speaks_of(folder: Path) -> None:
    train = load(folder / "train.py")
    measured = measure_probe(train.train)
    assert (measured.loop, measured.restore) == (2, 1)
    assert measured.donation_error is not None
