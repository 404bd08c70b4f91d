"""`--watch`, with a real process, real files and a real Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from tests.screens import ended_when_it_hangs

pytest.importorskip("watchfiles")

UNUSED = "x = 1  # statelint: ignore[SL777]\n"
"""A file with one warning."""

PROBE = """
import jax.numpy as jnp
from statelint import Probe

with open(__file__ + ".runs", "a") as runs:
    runs.write("once\\n")

train = Probe(step=lambda state: state + 1, state=jnp.zeros(3))
"""


class Watch:
    """A `statelint --watch`, read line by line."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "statelint", "--watch", "--no-cache", "--output-format", "concise", *options],
            cwd=folder,
            env={key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def report(self) -> list[str]:
        """The lines of the next report, which end with what was checked."""
        lines = [self.report_line()]
        while not re.search(r"\d+ files?", lines[-1]):
            lines.append(self.report_line())
        return lines

    def report_line(self) -> str:
        return self._line(self.process.stdout)

    def note(self) -> str:
        """The next line beside the reports, without its time."""
        return re.sub(r"^\[\d\d:\d\d:\d\d\] ", "", self._line(self.process.stderr))

    @staticmethod
    def _line(stream: IO[str] | None) -> str:
        assert stream is not None
        line = stream.readline()
        assert line, "it ended"
        return line.rstrip("\n")

    def interrupt(self) -> tuple[int, str, str]:
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate()
        return self.process.returncode, out, err.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("made.py\n")
    (tmp_path / "pyproject.toml").write_text("[tool.statelint]\nextend-exclude = ['third_party']\n")
    (tmp_path / "third_party").mkdir()
    (tmp_path / "a.py").write_text("x = 1\n")
    return tmp_path


@pytest.fixture
def watch(project: Path, request: pytest.FixtureRequest) -> Iterator[Watch]:
    watch = Watch(project, *getattr(request, "param", ()))
    with ended_when_it_hangs(watch.process):
        yield watch
        watch.process.kill()
        watch.process.communicate()


WAITING = "watching for changes, Ctrl-C ends"


def test_it_checks_once_and_after_every_change_until_it_is_interrupted(project: Path, watch: Watch) -> None:
    assert watch.report() == ["All clean: 1 file checked"]
    assert watch.note() == WAITING

    (project / "a.py").write_text(UNUSED)
    assert watch.note() == "a.py changed"
    finding, *_, summary = watch.report()
    assert finding.startswith("a.py:1:8: SL901 [warning] ")
    assert summary == "1 warning in 1 file"
    assert watch.note() == WAITING

    assert watch.interrupt() == (130, "", "")


def test_what_is_not_linted_does_not_matter(project: Path, watch: Watch) -> None:
    watch.report()
    assert watch.note() == WAITING
    (project / "made.py").write_text(UNUSED)
    (project / "third_party/b.py").write_text(UNUSED)
    (project / "notes.txt").write_text("nothing")
    (project / "a.py").write_text((project / "a.py").read_text())
    (project / "a.py.new").write_text("x = 2\n")
    os.replace(project / "a.py.new", project / "a.py")  # as many editors save
    assert watch.note() == "a.py changed"
    assert watch.report() == ["All clean: 1 file checked"]


def test_files_come_and_go(project: Path, watch: Watch) -> None:
    watch.report()
    assert watch.note() == WAITING
    (project / "deep/er").mkdir(parents=True)
    (project / "deep/er/new.py").write_text(UNUSED)
    assert watch.note() == "deep/er/new.py changed"
    assert watch.report()[-1] == "1 warning in 2 files"
    assert watch.note() == WAITING
    (project / "deep/er/new.py").unlink()
    assert watch.note() == "deep/er/new.py changed"
    assert watch.report() == ["All clean: 1 file checked"]


def test_a_file_that_git_ignores_no_longer(project: Path, watch: Watch) -> None:
    (project / "made.py").write_text(UNUSED)
    watch.report()
    assert watch.note() == WAITING
    (project / ".gitignore").write_text("")
    assert watch.note() == "made.py changed"
    assert watch.report()[-1] == "1 warning in 2 files"


def test_the_configuration_may_change_and_be_wrong_for_a_while(project: Path, watch: Watch) -> None:
    watch.report()
    assert watch.note() == WAITING
    (project / "pyproject.toml").write_text("[tool.statelint]\nselct = []\n")
    assert watch.note() == "pyproject.toml changed"
    assert watch.note() == (
        "statelint: error: pyproject.toml: tool.statelint.selct: unknown key (did you mean select?)"
    )
    assert watch.note() == WAITING
    (project / "a.py").write_text(UNUSED)
    (project / "pyproject.toml").write_text("[tool.statelint]\nignore = ['SL901']\n")
    assert watch.note() == "2 files changed"
    assert watch.report() == ["All clean: 1 file checked"]
    assert watch.note() == WAITING
    (project / "pyproject.toml").write_text("[tool.statelint]\nignore = [901]\n")
    assert watch.note() == "pyproject.toml changed"


@pytest.mark.parametrize("watch", [["-q", "a.py"]], indirect=True)
def test_quiet_prints_findings_and_nothing_else(project: Path, watch: Watch) -> None:
    (project / "a.py").write_text(UNUSED)  # before the first check or after it
    assert watch.report_line().startswith("a.py:1:8: SL901")
    code, _, err = watch.interrupt()
    assert (code, err) == (130, "")


def test_probes_run_again_only_when_something_changed(project: Path) -> None:
    (project / "train.py").write_text(PROBE)
    runs = project / "train.py.runs"
    watch = Watch(project, "--python", sys.executable)
    with ended_when_it_hangs(watch.process):
        assert watch.report() == ["All clean: 2 files, 1 probe checked"]
        assert watch.note() == WAITING
        first = runs.read_text().count("once")
        assert first > 0
        (project / "notes.txt").write_text("nothing")
        (project / "third_party/b.py").write_text(UNUSED)
        (project / "a.py").write_text("x = 2\n")
        assert watch.note() == "a.py changed"
        assert watch.report() == ["All clean: 2 files, 1 probe checked"]
        assert watch.note() == WAITING
        assert watch.interrupt()[0] == 130
    assert runs.read_text().count("once") == 2 * first


def run(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)


def test_without_watchfiles_it_says_how_to_get_it(project: Path) -> None:
    program = "import sys; sys.modules['watchfiles'] = None; from statelint import cli; sys.exit(cli.main(['--watch']))"
    done = run(program, project)
    line = "statelint: error: --watch needs watchfiles: pip install 'jax-statelint[watch]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["nowhere.py"], "nowhere.py: no such file or folder"),
        (["--diff"], "--diff does not go with --watch"),
        (["--add-ignore"], "--add-ignore does not go with --watch"),
        (["--write-baseline"], "--write-baseline does not go with --watch"),
        (["--show-files"], "--show-files does not go with --watch"),
        (["--show-settings"], "--show-settings does not go with --watch"),
        (["-"], "- does not go with --watch"),
        (["--select", "SL777"], "--select: unknown rule 'SL777'"),
    ],
)
def test_what_cannot_be_watched(project: Path, options: list[str], line: str) -> None:
    program = f"import sys; from statelint import cli; sys.exit(cli.main(['--watch', *{options!r}]))"
    done = run(program, project)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"statelint: error: {line}")
    assert done.stderr.count("\n") == 1
