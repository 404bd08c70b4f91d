"""A buffer on standard input, linted under the name of a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.statelint_cli import ROOT

STATELINT = str(Path(sys.executable).with_name("statelint"))

SHARED = "import jax.numpy as jnp\n\nzeros = jnp.zeros(3)\nstate = {'mu': zeros, 'nu': zeros}\n"
COUNTER = 'import jax.numpy as jnp\n\nstate = {"w": jnp.ones(3), "step": 0}\n'
PROBED = (ROOT / "fixtures/SL304_weak_type_drift/bad.py").read_text(encoding="utf-8")


def run(folder: Path, *arguments: str, given: str | bytes = "") -> subprocess.CompletedProcess[bytes]:
    env = {name: value for name, value in os.environ.items() if name != "FORCE_COLOR"}
    data = given.encode() if isinstance(given, str) else given
    return subprocess.run([STATELINT, *arguments], cwd=folder, env=env, input=data, capture_output=True, check=False)


def codes(folder: Path, *arguments: str, given: str) -> list[str]:
    done = run(folder, "--output-format", "json", *arguments, given=given)
    assert done.returncode in (0, 1), done.stderr
    return [entry["code"] for entry in json.loads(done.stdout)["diagnostics"]]


@pytest.mark.parametrize("options", [(), ("--output-format", "json"), ("--quiet",), ("--diff",)])
def test_the_report_is_that_of_the_file_with_that_content(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = tmp_path / "train.py"
    path.write_text(SHARED)
    saved = run(tmp_path, "--no-probe", *options, "train.py")
    path.write_text("not = saved yet\n")
    piped = run(tmp_path, *options, "--stdin-filename", "train.py", given=SHARED)
    assert (piped.returncode, piped.stdout, piped.stderr) == (saved.returncode, saved.stdout, saved.stderr)


def test_the_file_need_not_be_there_and_is_shown_as_it_was_named(tmp_path: Path) -> None:
    for name, shown in (("pkg/new.py", "pkg/new.py"), ("./new.py", "new.py"), (f"{tmp_path}/new.py",) * 2):
        done = run(tmp_path, "--quiet", "--stdin-filename", name, "-", given=SHARED)
        assert done.stdout.decode().startswith(f"{shown}:4:29: SL401 ")


def test_a_dash_is_standard_input(tmp_path: Path) -> None:
    done = run(tmp_path, "-", given=SHARED)
    assert done.returncode == 1
    assert done.stdout.startswith(b"-:4:29: SL401 [warning] ")
    assert b"zeros}" in done.stdout  # the source frame
    assert done.stdout.endswith(b"1 warning in 1 file\n")
    assert run(tmp_path, "check", "-", given="x = 1\n").stdout == b"All clean: 1 file checked\n"
    (tmp_path / "-").write_text(SHARED)
    assert run(tmp_path, "./-", given="x = 1\n").returncode == 1


def test_the_configuration_is_that_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/pyproject.toml").write_text(
        "[tool.statelint]\nextend-exclude = ['made']\n[tool.statelint.per-file-ignores]\n'quiet_*.py' = ['SL401']\n"
    )
    assert codes(tmp_path, "--stdin-filename", "quiet_a.py", given=SHARED) == ["SL401"]
    assert codes(tmp_path, "--stdin-filename", "inner/quiet_a.py", given=SHARED) == []
    assert codes(tmp_path, "--stdin-filename", "inner/deep/quiet_a.py", given=SHARED) == []
    assert codes(tmp_path, "--stdin-filename", "inner/loud_a.py", given=SHARED) == ["SL401"]
    # A file that is named is linted although a pattern excludes it.
    assert codes(tmp_path, "--stdin-filename", "inner/made/a.py", given=SHARED) == ["SL401"]


def test_other_files_of_the_project_are_known(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("")
    (tmp_path / "pkg/model.py").write_text(
        "from flax import struct\n\n@struct.dataclass\nclass Carry:\n    step: int\n    total: object\n"
    )
    buffer = "import jax.numpy as jnp\nfrom pkg.model import Carry\n\nfirst = Carry(step=0, total=jnp.zeros(3))\n"
    assert codes(tmp_path, "--stdin-filename", "pkg/new.py", given=buffer) == ["SL101"]
    assert codes(tmp_path / "pkg", "--isolated", "--stdin-filename", "/elsewhere/new.py", given=buffer) == []


def test_the_cache_tells_the_buffer_from_the_file(tmp_path: Path) -> None:
    model = "from flax import struct\n\n@struct.dataclass\nclass Carry:\n    step: int\n    total: object\n"
    user = "import jax.numpy as jnp\nfrom model import Carry\n\nfirst = Carry(step=0, total=jnp.zeros(3))\n"
    (tmp_path / "model.py").write_text(model)
    (tmp_path / "user.py").write_text(user)
    for _ in range(2):
        assert codes(tmp_path, "--stdin-filename", "user.py", given=SHARED) == ["SL401"]
        assert codes(tmp_path, "--stdin-filename", "model.py", given="Carry = dict\n") == []
        assert codes(tmp_path, "--stdin-filename", "user.py", given=user) == ["SL101"]
        assert codes(tmp_path, given="") == ["SL101"]


def test_ignores_and_syntax_errors_of_the_buffer(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SHARED)
    silent = SHARED.replace("zeros}\n", "zeros}  # statelint: ignore[SL401]\n")
    assert codes(tmp_path, "--stdin-filename", "a.py", given=silent) == []
    assert codes(tmp_path, "--stdin-filename", "a.py", given="def f(:\n") == ["SL900"]


def test_the_baseline_of_the_file_holds(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SHARED)
    (tmp_path / "pyproject.toml").write_text("[tool.statelint]\nbaseline = 'known.json'\n")
    assert run(tmp_path, "--write-baseline").returncode == 0
    assert codes(tmp_path, "--stdin-filename", "a.py", given=f"\n{SHARED}") == []
    assert codes(tmp_path, "--stdin-filename", "b.py", given=SHARED) == ["SL401"]


def test_probes_are_not_run_and_the_summary_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(PROBED)
    done = run(tmp_path, "--stdin-filename", "a.py", given="raise SystemExit\n" + PROBED)
    assert b"probes not run)" in done.stdout or b"1 probe not run)" in done.stdout
    assert b"SL902" not in done.stdout


# --- fixes


def test_the_fixed_buffer_is_printed_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("saved = 1\n")
    done = run(tmp_path, "--no-cache", "--fix", "--stdin-filename", "a.py", given=COUNTER)
    assert done.stdout.decode() == COUNTER.replace("0}", "jnp.zeros((), jnp.int32)}")
    assert done.stderr == b"Fixed 1 finding in 1 file\nAll clean: 1 file checked\n"
    assert done.returncode == 0
    assert (tmp_path / "a.py").read_text() == "saved = 1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


def test_what_remains_is_reported_at_its_line_in_the_fixed_buffer(tmp_path: Path) -> None:
    buffer = 'from jax.numpy import zeros\n\nstate = {\n    "w": zeros(3), "step": 0,\n    "lr": 0.1\n}\n'
    done = run(tmp_path, "--fix", "--quiet", "--stdin-filename", "a.py", given=buffer)
    lines = done.stdout.decode().splitlines()
    at = 1 + lines.index('    "lr": 0.1')
    assert at == 6  # the fix of "step" imports jax.numpy
    assert done.stderr.decode().startswith(f"a.py:{at}:11: SL102 [warning] ")
    assert done.returncode == 1


@pytest.mark.parametrize("buffer", [b"x = 1\r\n", b"", b"def f(:\n", b"\xff\xfe\x00", b"# coding: latin-1\nx = '\xe9'"])
def test_a_buffer_without_fixes_comes_back_as_it_is(tmp_path: Path, buffer: bytes) -> None:
    assert run(tmp_path, "--fix", "-", given=buffer).stdout == buffer


def test_the_fixed_buffer_keeps_its_line_ends_and_encoding(tmp_path: Path) -> None:
    buffer = f"# coding: latin-1\n# é\n{COUNTER}".replace("\n", "\r\n").encode("latin-1")
    fixed = run(tmp_path, "--fix", "-", given=buffer).stdout
    assert fixed == buffer.replace(b"0}", b"jnp.zeros((), jnp.int32)}")


def test_the_report_may_go_to_a_file_beside_the_fixed_buffer(tmp_path: Path) -> None:
    buffer = COUNTER.replace("0}", '0, "lr": 0.1}')
    done = run(tmp_path, "--fix", "--output-format", "json", "--output-file", "out.json", "-", given=buffer)
    assert done.stdout.decode() == buffer.replace('0, "lr"', 'jnp.zeros((), jnp.int32), "lr"')
    assert done.stderr == b""
    assert [entry["code"] for entry in json.loads((tmp_path / "out.json").read_text())["diagnostics"]] == ["SL102"]


def test_the_diff_applies_to_the_buffer(tmp_path: Path) -> None:
    done = run(tmp_path, "--diff", "--stdin-filename", "a.py", given=COUNTER)
    assert (done.returncode, done.stderr) == (1, b"Would fix 1 finding in 1 file\n")
    (tmp_path / "a.py").write_text(COUNTER)
    subprocess.run(["git", "apply", "-p0"], cwd=tmp_path, input=done.stdout, check=True)
    assert (tmp_path / "a.py").read_bytes() == run(tmp_path, "--fix", "-", given=COUNTER).stdout


# --- what does not go


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-", "a.py"], "- does not go with other PATHS"),
        (["-", "-"], "- does not go with other PATHS"),
        (["--stdin-filename", "a.py", "a.py"], "--stdin-filename does not go with PATHS"),
        (["--stdin-filename", ""], "--stdin-filename: '' names no file"),
        (["--stdin-filename", "."], "--stdin-filename: .: is a folder"),
        (["--stdin-filename", "a.ipynb"], "--stdin-filename: a.ipynb: notebooks are not checked"),
        (["--stdin-filename", "a.py", "--add-ignore"], "--stdin-filename does not go with --add-ignore"),
        (["-", "--write-baseline"], "- does not go with --write-baseline"),
    ],
)
def test_a_users_error_is_one_line(tmp_path: Path, arguments: list[str], line: str) -> None:
    done = run(tmp_path, *arguments, given=SHARED)
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", f"statelint: error: {line}\n")


def test_a_closed_standard_input(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"'{STATELINT}' - <&-"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "statelint: error: standard input cannot be read: it is closed\n"


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = subprocess.run(
        ["bash", "-c", f"'{STATELINT}' --fix - > /dev/full"],
        cwd=tmp_path,
        input=COUNTER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "statelint: error: the fixed buffer cannot be written: No space left on device\n"
