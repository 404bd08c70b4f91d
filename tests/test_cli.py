from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

UNUSED = "x = 1  # statelint: ignore[SL777]\n"
"""A file with one warning, which no other rule need find."""

STATELINT = str(Path(sys.executable).with_name("statelint"))


def run(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [STATELINT, *arguments], cwd=folder, env=environment(env), capture_output=True, text=True, check=False
    )


def environment(extra: dict[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "TERM")}
    return {**kept, **extra}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(UNUSED)
    (tmp_path / "clean.py").write_text("x = 1\n")
    return tmp_path


# --- exit codes


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 1),
        (["."], 1),
        (["check", "a.py"], 1),
        (["clean.py"], 0),
        (["--exit-zero"], 0),
        (["--fail-on", "error"], 0),
        (["--fail-on", "info"], 1),
        (["--ignore", "unused-ignore"], 0),
        (["--output-format", "json"], 1),
        (["--exit-zero", "nowhere.py"], 2),
    ],
)
def test_exit_codes(project: Path, arguments: list[str], code: int) -> None:
    done = run(project, *arguments)
    assert done.returncode == code, done.stderr
    assert bool(done.stderr) == (code == 2)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere.py"], "nowhere.py: no such file or folder"),
        (["--selct", "SL1"], "No such option '--selct'."),
        (["--select", "SL9,shared-bufer"], "--select: unknown rule 'shared-bufer'"),
        (
            ["--select", "SL901", "--ignore", "SL901"],
            "no rule is left to run: all that are selected are ignored too",
        ),
        (["--output-format", "yaml"], "Invalid value for '--output-format': 'yaml' is not one of"),
        (["--select", ""], "--select: '' names no rule"),
        (["--ignore", "SL1", "--ignore", " ,"], "--ignore: ' ,' names no rule"),
        (["--config", ""], "--config: '' names no file"),
        (["--output-file", ""], "--output-file: '' names no file"),
        (["--python", ""], "--python: '' names no file"),
        (["--isolated", "--config", "x.toml"], "--config does not go with --isolated"),
        (["--unsafe-fixes"], "--unsafe-fixes goes with --fix or --diff"),
        ([""], "'': no such file or folder"),
        (["new\nline.py"], "new\\nline.py: no such file or folder"),
        (["--config", "nowhere.toml"], "nowhere.toml: cannot be read: No such file or directory"),
        (
            ["--output-file", "no/where.txt"],
            "--output-file: no/where.txt: cannot be written: No such file or directory",
        ),
        (["--output-file", "."], "--output-file: .: cannot be written: Is a directory"),
        (["rule", "SL00"], "unknown rule 'SL00'"),
        (["rule", "unused-ignroe"], "unknown rule 'unused-ignroe' (did you mean unused-ignore?)"),
    ],
)
def test_a_users_error_is_one_line(project: Path, arguments: list[str], line: str) -> None:
    done = run(project, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"statelint: error: {line}")
    assert done.stderr.count("\n") == 1


def test_every_error_of_the_configuration_has_its_line(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.statelint]\nselct = 1\nignore = 2\n")
    done = run(project)
    assert done.returncode == 2
    prefix = "statelint: error: pyproject.toml: tool.statelint"
    assert done.stderr.splitlines() == [
        f"{prefix}.selct: unknown key (did you mean select?)",
        f"{prefix}.ignore: expected an array of strings, got an integer",
    ]


def test_a_selection_of_nothing(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.statelint]\nselect = []\n")
    done = run(project)
    assert (done.returncode, done.stderr) == (2, "statelint: error: pyproject.toml: select: no rule is selected\n")
    assert run(project, "--extend-select", "SL901").returncode == 1


def test_isolated_reads_no_configuration(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.statelint]\nignore = ['SL901']\n")
    assert run(project).returncode == 0
    assert run(project, "--isolated").returncode == 1


def test_a_folder_without_python_is_clean_and_says_so(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (0, "Nothing to check: no Python files\n")
    assert done.stderr == "statelint: warning: no Python files found under .\n"


# --- output


def test_the_text_form_ends_with_what_was_checked(project: Path) -> None:
    lines = run(project).stdout.splitlines()
    assert lines[0].startswith("a.py:1:8: SL901 [warning] ")
    assert lines[-1] == "1 warning in 2 files"
    assert run(project, "clean.py").stdout == "All clean: 1 file checked\n"


def test_json_on_standard_output_is_nothing_but_json(project: Path) -> None:
    document = json.loads(run(project, "--output-format", "json").stdout)
    assert document["checked"] == {"files": 2, "probes": []}
    assert [finding["code"] for finding in document["diagnostics"]] == ["SL901"]


def test_output_file_is_written_whole_and_nothing_is_printed(project: Path) -> None:
    target = project / "out.json"
    target.write_text("old")
    target.chmod(0o640)
    done = run(project, "--output-format", "json", "--output-file", "out.json")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert json.loads(target.read_text())["version"] == 1
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(path.name for path in project.iterdir()) == [".statelint_cache", "a.py", "clean.py", "out.json"]


def test_output_file_may_be_a_device(project: Path) -> None:
    assert run(project, "--output-file", os.devnull).returncode == 1
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize(
    ("arguments", "env", "coloured"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": ""}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colour(project: Path, arguments: list[str], env: dict[str, str], coloured: bool) -> None:
    painted = run(project, *arguments, **env).stdout
    assert ("\x1b" in painted) == coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == run(project).stdout


def test_a_terminal_is_painted(project: Path) -> None:
    pty = pytest.importorskip("pty")
    for env, coloured in (
        ({"TERM": "xterm"}, True),
        ({"TERM": "dumb"}, False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, False),
    ):
        ours, theirs = pty.openpty()
        process = subprocess.Popen([STATELINT, "a.py"], cwd=project, env=environment(env), stdout=theirs)
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # Linux says so at the end of a terminal's output
            pass
        os.close(ours)
        assert process.wait() == 1
        assert (b"\x1b" in shown) == coloured


def test_a_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "many.py").write_text(UNUSED * 5000)
    command = f"{{ '{STATELINT}' many.py; echo \"code $?\" >&2; }} | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("many.py:1:8: SL901")
    assert done.stderr == "code 1\n"


def test_a_pipe_that_is_closed_from_the_start(project: Path) -> None:
    for closed in (">&-", "2>&- >&-"):
        done = subprocess.run(
            ["bash", "-c", f"'{STATELINT}' {closed}"],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (1, 2)
        assert "Traceback" not in done.stderr


def test_what_the_terminal_cannot_show_is_escaped(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("é = 1  # statelint: ignore[SL777]\n", encoding="utf-8")
    done = run(tmp_path, LANG="C", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 1
    assert done.stdout.startswith("caf\\udce9.py:1:8: SL901")
    assert "\\xe9 = 1" in done.stdout
    assert run(tmp_path).returncode == run(tmp_path, "--output-format", "json").returncode == 1


def test_interrupt_is_quiet(tmp_path: Path) -> None:
    pipe = tmp_path / "waits.py"
    os.mkfifo(pipe)
    process = subprocess.Popen([STATELINT, "waits.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # Opening the pipe for writing succeeds once statelint has opened it to read, so that it is at work.
    while True:
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            break
        except OSError:
            time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    os.close(writer)
    assert (process.returncode, out, err.strip()) == (130, b"", b"")


# --- the other commands


def test_rule_page_and_table(tmp_path: Path) -> None:
    page = run(tmp_path, "rule", "SL901").stdout
    assert page.startswith("# SL901: unused-ignore\n\nAn ignore comment that silences nothing.\n")
    assert run(tmp_path, "rule", "unused-ignore").stdout == page
    header, *rows = run(tmp_path, "rule").stdout.splitlines()
    assert header.split() == ["code", "name", "by", "severity", "summary"]
    assert any(re.match(r"SL901 +unused-ignore +S +warning +An ignore comment", row) for row in rows)


def test_the_rules_of_a_prefix(tmp_path: Path) -> None:
    rows = run(tmp_path, "rule", "sl90").stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows if row.startswith("SL")] == ["SL900", "SL901", "SL902"]
    listed = json.loads(run(tmp_path, "rule", "SL90", "--output-format", "json").stdout)
    assert [rule["code"] for rule in listed] == ["SL900", "SL901", "SL902"]


def test_pages_without_docstrings(tmp_path: Path) -> None:
    page = run(tmp_path, "rule", "SL901").stdout
    assert run(tmp_path, "rule", "SL901", PYTHONOPTIMIZE="2", PYTHONDONTWRITEBYTECODE="1").stdout == page


def test_rules_as_json(tmp_path: Path) -> None:
    listed = json.loads(run(tmp_path, "rule", "--output-format", "json").stdout)
    assert [rule["code"] for rule in listed] == sorted(rule["code"] for rule in listed)
    (one,) = json.loads(run(tmp_path, "rule", "SL901", "--output-format", "json").stdout)
    assert one in listed
    assert {key: one[key] for key in ("name", "severity", "by", "default", "summary")} == {
        "name": "unused-ignore",
        "severity": "warning",
        "by": "S",
        "default": True,
        "summary": "An ignore comment that silences nothing.",
    }


def test_version_and_help(tmp_path: Path) -> None:
    from statelint import __version__

    assert run(tmp_path, "--version").stdout == f"statelint {__version__}\n"
    assert "statelint --no-probe train.py" in run(tmp_path, "--help").stdout
    assert "--fail-on" in run(tmp_path, "check", "--help").stdout


def test_python_m(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "statelint", "clean.py"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "All clean: 1 file checked\n")


def test_a_run_without_jax_code_imports_nothing_heavy(project: Path) -> None:
    program = (
        "import sys; from statelint import cli; cli.main(['--no-probe', 'clean.py']); "
        "print(sorted({'jax', 'libcst', 'rich', 'statelint.probe.client'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["All clean: 1 file checked", "[]"]


def test_a_full_disk_is_an_error(project: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = subprocess.run(
        ["bash", "-c", f"'{STATELINT}' > /dev/full"], cwd=project, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (
        2,
        "statelint: error: the report cannot be written: No space left on device\n",
    )


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command with `statelint` in it."""
    script = f"statelint() {{ '{STATELINT}' \"$@\"; }}; {command}"
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("command", "code", "line"),
    [
        ("statelint nowhere 2>/dev/full", 2, ""),
        ("statelint nowhere 2>&-", 2, ""),
        ("{ sleep 0.1; statelint nowhere; echo $? >code; } 2>&1 >/dev/null | true; exit $(cat code)", 2, ""),
        ("{ sleep 0.1; statelint --help; echo $? >code; } | true; exit $(cat code)", 0, ""),
        ("statelint --help >/dev/full", 2, "the output cannot be written: No space left on device"),
        ("statelint --version >/dev/full", 2, "the output cannot be written: No space left on device"),
        ("statelint rule >/dev/full", 2, "the report cannot be written: No space left on device"),
        (
            "mkdir gone; cd gone; rmdir ../gone; statelint",
            2,
            "the current folder cannot be read: No such file or directory",
        ),
        (
            "trap '' XFSZ; ulimit -f 0; statelint --output-file big",
            2,
            "--output-file: big: cannot be written: File too large",
        ),
    ],
)
def test_what_the_system_refuses_is_one_line(project: Path, command: str, code: int, line: str) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    done = shell(project, command)
    assert done.returncode == code, done.stderr
    assert done.stderr == (f"statelint: error: {line}\n" if line else "")
    assert {path.name for path in project.iterdir()} <= {"a.py", "clean.py", "code", ".statelint_cache"}


@pytest.mark.parametrize(
    "command",
    [
        "statelint --output-file /dev/stdout a.py | cat",
        "statelint --output-file /dev/stderr a.py 2>&1 | cat",
        "statelint --output-file >(cat) a.py; sleep 0.3",
        "statelint --output-file /dev/stdout many.py | head -1",
    ],
)
def test_output_file_may_be_a_pipe(project: Path, command: str) -> None:
    (project / "many.py").write_text(UNUSED * 5000)
    done = shell(project, command)
    assert re.match(r"(a|many)\.py:1:8: SL901", done.stdout)
    assert done.stderr == ""


def test_output_file_may_have_the_longest_name(project: Path) -> None:
    assert run(project, "--output-file", "x" * 250).returncode == 1
    assert (project / ("x" * 250)).read_text().startswith("a.py:1:8: SL901")


def test_interrupt_is_quiet_from_the_first_moment() -> None:
    program = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *given):\n"
        "        if name == 'statelint.linter': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from statelint.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.strip()) == (130, "", "")


def test_what_comes_before_the_guard_against_an_interrupt_is_next_to_nothing() -> None:
    program = (
        "import sys; before = set(sys.modules); import statelint.__main__; "
        "print(sorted(name for name in set(sys.modules) - before if name.startswith(('statelint', 'dataclasses'))))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['statelint', 'statelint.__main__']\n"


def test_a_fault_of_our_own_is_one_line_and_no_finding(project: Path) -> None:
    program = (
        "import sys; from statelint import cli, linter\n"
        "def run(*given): raise KeyError('lost')\n"
        "linter.run = run\n"
        "sys.exit(cli.main(['a.py']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=project, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "statelint: error: internal error at <string>:2: KeyError: 'lost'\n"


def test_modules_of_the_project_are_not_imported(tmp_path: Path) -> None:
    for name in ("msgspec", "random", "typing"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('run')\n")
    (tmp_path / "a.py").write_text("x = 1\n")
    done = run(tmp_path, "--no-probe", "a.py", PYTHONSAFEPATH="")
    assert (done.returncode, done.stdout, done.stderr) == (0, "All clean: 1 file checked\n", "")
