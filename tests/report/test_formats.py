"""A real run over odd files in every format, on a stream that takes ASCII only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from statelint.report import FORMATS

FAULTY = "import jax.numpy as jnp\n\n\ndef init(p):\n    return {'params': jnp.zeros(3), 'step': 0}\n"
PROBE = "[[tool.statelint.probe]]\nname = 'modèle'\nstep = 'nowhere:step'\nstate = 'nowhere:state'\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files with a finding, one that is clean, one that is not Python, and a probe that fails."""
    folder = tmp_path_factory.mktemp("odd names")
    for name in ("名前 模型.py", os.fsdecode(b"caf\xe9.py")):
        try:
            (folder / name).write_text(FAULTY)
        except OSError:  # not every file system takes every name
            pytest.skip("the file system takes no name that is not UTF-8")
    (folder / "clean.py").write_text("x = 1\n")
    (folder / "broken.py").write_text("def (\n")
    (folder / "pyproject.toml").write_text(PROBE, encoding="utf-8")
    return folder


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[bytes]:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-m", "statelint", *options]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False, timeout=300)


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from strings(each)
    elif isinstance(value, str):
        yield value


def of_json(text: str) -> str:
    return "\n".join(strings(json.loads(text)))


def of_xml(text: str) -> str:
    root = ElementTree.fromstring(text.encode())
    return "\n".join(part for each in root.iter() for part in (*each.attrib.values(), each.text or ""))


READERS: dict[str, Callable[[str], str]] = {
    "json": of_json,
    "gitlab": of_json,
    "sarif": of_json,
    "rdjson": of_json,
    "junit": of_xml,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_shows_what_was_found_and_what_was_not_checked(folder: Path, name: str, tmp_path: Path) -> None:
    done = run(folder, "--output-format", name)
    assert (done.returncode, done.stderr) == (1, b"")
    text = done.stdout.decode("ascii")
    read = READERS.get(name, str)(text)
    codes = ("SL101", "SL900", "SL902") if name != "gitlab" else ("step", "syntax-error", "probe-failed")
    assert all(code in read for code in codes)
    assert "caf" in read
    # The file holds the same, in UTF-8 where the format is not ASCII anyway.
    file = tmp_path / "report"
    assert run(folder, "--output-format", name, "--output-file", str(file)).returncode == 1
    assert file.read_bytes().decode("utf-8").encode("ascii", "backslashreplace") == done.stdout
    assert run(folder, "--output-format", name).stdout == done.stdout


@pytest.mark.parametrize("name", ["text", "concise", "github", "sarif", "junit", "pylint"])
def test_a_probe_that_is_left_out_is_said_to_be(folder: Path, name: str) -> None:
    done = run(folder, "--no-probe", "--output-format", name)
    assert "1 probe not run" in READERS.get(name, str)(done.stdout.decode("ascii"))


def test_sarif_says_how_the_run_ended(folder: Path) -> None:
    (invocation,) = json.loads(run(folder, "--output-format", "sarif").stdout)["runs"][0]["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 1)
    (broken, probe, _) = invocation["toolExecutionNotifications"]
    assert broken["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "broken.py"
    assert probe["message"]["text"] == "probe modèle could not be traced"
    exit_code = json.loads(run(folder, "--output-format", "sarif", "--exit-zero").stdout)["runs"][0]["invocations"]
    assert exit_code[0]["exitCode"] == 0
