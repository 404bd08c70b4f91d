"""What the code of probes prints: silent, unless it is asked for or a probe failed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from statelint.cli import printed
from statelint.model.trace import ProbeFailure, StepTrace
from tests.probe.running import run, write

CODE = """\
import os
from statelint import Probe

print("importing")


def init():
    print("init \\x1b[31m")
    os.system("echo from a child")
    return 0


def bad(state):
    print("about to fail")
    raise ValueError("no way")


good = Probe(lambda state: state + 1, init)
fails = Probe(bad, init)
"""


def statelint(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "statelint", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_output_is_shown_with_verbose_only(tmp_path: Path) -> None:
    write(tmp_path / "train.py", CODE)
    silent = statelint(tmp_path, "--isolated", "train.py")
    assert silent.stderr == ""
    loud = statelint(tmp_path, "--isolated", "-v", "train.py")
    assert loud.stdout == silent.stdout
    lines = loud.stderr.splitlines()
    assert lines[:3] == ["probe good: importing", "probe good: init \\x1b[31m", "probe good: from a child"]
    assert "probe fails: about to fail" in lines
    assert "probe fails: ValueError: no way" in lines
    first = lines.index("probe fails: Traceback (most recent call last):") + 1
    assert "train.py" in lines[first], "it begins at the user's first frame"


def test_show_is_verbose_too(tmp_path: Path) -> None:
    write(tmp_path / "train.py", CODE)
    assert "probe" not in statelint(tmp_path, "show", "train.py").stderr
    assert "probe good: from a child" in statelint(tmp_path, "show", "-v", "train.py").stderr


def test_a_failure_shows_the_last_lines_in_the_full_form(tmp_path: Path) -> None:
    write(tmp_path / "train.py", CODE)
    text = statelint(tmp_path, "--isolated", "train.py").stdout
    shown = [line.strip() for line in text.splitlines() if "= printed: " in line]
    assert shown == ["= printed: init \\x1b[31m", "= printed: from a child", "= printed: about to fail"]
    report = statelint(tmp_path, "--isolated", "--output-format", "json", "train.py").stdout
    assert "printed" not in report
    assert "importing" not in report
    assert json.loads(report)["checked"]["probes"][1]["name"] == "fails"


def test_each_probe_has_its_own_output(tmp_path: Path) -> None:
    code = "from statelint import Probe\ninit = int\nprint({0!r} * 100_000)\nprobe = Probe(step=abs, state=init)\n"
    files = [write(tmp_path / f"{name}.py", code.format(name)) for name in "abc"]
    for name, result in zip("abc", run(tmp_path, *files), strict=True):
        assert isinstance(result, StepTrace)
        assert set(result.printed.strip()) == {name}
        assert len(result.printed) <= 2**16


def test_the_last_words_of_a_crash(tmp_path: Path) -> None:
    code = "import os\nfrom statelint import Probe\ndef init():\n    os.write(2, b'last words\\n')\n    os.abort()\n"
    file = write(tmp_path / "crash.py", code + "probe = Probe(step=abs, state=init)\n")
    (failed,) = run(tmp_path, file)
    assert isinstance(failed, ProbeFailure)
    assert failed.last[0] == "last words"
    assert not any("worker.py" in line for line in failed.last)
    assert "worker.py" in failed.printed


def test_much_output_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    printed.say_printed("p", "\n".join(map(str, range(1250))))
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "probe p: (1,050 lines are left out)"
    assert lines[1:] == [f"probe p: {number}" for number in range(1050, 1250)]


OURS = """\
import jax
from statelint import Probe


def helper(state):
    return state @ state.T @ state


def step(state):
    try:
        raise KeyError("first")
    except KeyError:
        return helper(state)


chained = Probe(step, "f32[2,3,4]")
nobody = Probe(3, "f32[3]")
library = Probe(jax.lax.cos, "i32[3]")
"""


def test_a_traceback_shows_no_frame_of_ours(tmp_path: Path) -> None:
    write(tmp_path / "train.py", OURS)
    lines = statelint(tmp_path, "--isolated", "-v", "train.py").stderr.splitlines()
    files = [line for line in lines if 'File "' in line]
    package = str(Path(printed.__file__).parents[1])
    assert not [line for line in files if package in line]
    assert not [line for line in lines if "flat_step" in line]
    heads = [number for number, line in enumerate(lines) if line.endswith("Traceback (most recent call last):")]
    assert heads
    assert all("train.py" in lines[number + 1] for number in heads)
    assert "probe chained: KeyError: 'first'" in lines
    for probe in ("nobody", "library"):
        (only,) = [line for line in lines if line.startswith(f"probe {probe}: ")]
        assert "Error: " in only
