"""A run that knows of earlier ones, or reads in several processes, says what a run that does neither says."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from statelint import reading
from statelint.cache import Cache
from statelint.cli import main
from statelint.model.names import Names
from statelint.reading import FileReport
from statelint.source import words
from tests.statelint_cli import ROOT

STATE = """\
from typing import NamedTuple
import jax


class TrainState(NamedTuple):
    params: jax.Array
    {field}: jax.Array
"""

BUILDS = """\
from {module} import TrainState


def init(params):
    return TrainState(params, 0)
"""


class Run:
    """Runs in one folder, in this process."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def __call__(self, *options: str) -> list[dict[str, Any]]:
        """The findings of a run that may know of earlier ones, which are those of one that does not."""
        found = self.findings(*options)
        assert found == self.findings("--no-cache", "-j1", *options)
        return found

    def findings(self, *options: str) -> list[dict[str, Any]]:
        code = main(["--output-format", "json", "--no-probe", *options])
        out, err = self.capsys.readouterr()
        assert (code in (0, 1), err) == (True, "")
        found: list[dict[str, Any]] = json.loads(out)["diagnostics"]
        return found


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "pyproject.toml").write_text("[tool.statelint]\n")
    monkeypatch.chdir(tmp_path)
    return Run(tmp_path, capsys)


def codes(found: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(each["path"], each["code"], each["field"]) for each in found]


def count_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read from now on, as they are."""
    read: list[str] = []
    report = reading._report

    def note(one: Any) -> FileReport:
        read.append(one.path)
        return report(one)

    monkeypatch.setattr(reading, "_report", note)
    return read


def test_what_has_not_changed_is_not_read_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (run.folder / "a.py").write_text(STATE.format(field="step"))
    (run.folder / "b.py").write_text(BUILDS.format(module="a"))
    first = run.findings()
    read = count_read(monkeypatch)
    assert run.findings() == first
    assert read == []
    (run.folder / "b.py").write_text(BUILDS.format(module="a") + "\n")
    assert run.findings() == first
    assert read == ["b.py"]


def test_a_class_that_another_file_defines(run: Run) -> None:
    (run.folder / "a.py").write_text(STATE.format(field="step"))
    (run.folder / "b.py").write_text(BUILDS.format(module="a"))
    assert codes(run()) == [("b.py", "SL101", "step")]
    (run.folder / "a.py").write_text(STATE.format(field="loss"))
    assert codes(run()) == [("b.py", "SL102", "loss")]
    (run.folder / "a.py").unlink()
    run()


def test_a_class_that_comes_to_be_of_jax(run: Run) -> None:
    (run.folder / "a.py").write_text(STATE.format(field="step").replace("import jax\n", "").replace("jax.", ""))
    (run.folder / "b.py").write_text(BUILDS.format(module="a"))
    assert codes(run()) == []
    (run.folder / "a.py").write_text(STATE.format(field="step"))
    assert codes(run()) == [("b.py", "SL101", "step")]


def test_a_module_that_comes_while_a_run_reads(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (run.folder / "b.py").write_text(BUILDS.format(module="a"))
    learn = Cache.learn

    def late(*args: Any) -> None:
        (run.folder / "a.py").write_text(STATE.format(field="step"))
        learn(*args)

    with monkeypatch.context() as patch:
        patch.setattr(Cache, "learn", late)
        assert run.findings("b.py") == []
    assert codes(run("b.py")) == [("b.py", "SL101", "step")]


def test_a_module_that_comes_to_stand_before_another(run: Run) -> None:
    (run.folder / "src").mkdir()
    (run.folder / "src" / "states.py").write_text(STATE.format(field="step"))
    (run.folder / "b.py").write_text(BUILDS.format(module="states"))
    assert codes(run("b.py")) == [("b.py", "SL101", "step")]
    (run.folder / "states.py").write_text(STATE.format(field="loss"))
    assert codes(run("b.py")) == [("b.py", "SL102", "loss")]


def test_a_class_that_is_handed_on(run: Run) -> None:
    package = run.folder / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from .deep import TrainState\n")
    (package / "deep.py").write_text(STATE.format(field="step"))
    (run.folder / "b.py").write_text(BUILDS.format(module="package"))
    assert codes(run()) == [("b.py", "SL101", "step")]
    (package / "deep.py").write_text(STATE.format(field="loss"))
    assert codes(run("b.py")) == [("b.py", "SL102", "loss")]
    assert codes(run()) == [("b.py", "SL102", "loss")]


def test_a_project_that_begins_further_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (run.folder / "pyproject.toml").unlink()
    top, below = run.folder / "top", run.folder / "top" / "below"
    below.mkdir(parents=True)
    (top / "states.py").write_text(STATE.format(field="step"))
    (below / "b.py").write_text(BUILDS.format(module="states"))
    monkeypatch.chdir(below)
    assert codes(run("--isolated")) == []
    (top / "setup.cfg").touch()
    assert codes(run("--isolated")) == [("b.py", "SL101", "step")]


def test_one_file_by_two_ways_over_a_link(run: Run) -> None:
    deep = run.folder / "real" / "deep"
    deep.mkdir(parents=True)
    (run.folder / "link").symlink_to(deep)
    (run.folder / "x.py").write_text("import jax\ndef init(params):\n    return {'params': params, 'step': 0}\n")
    (run.folder / "real" / "x.py").write_text("import jax\n")
    assert len(run("link/../x.py", "x.py")) == 1
    shutil.copy(run.folder / "x.py", run.folder / "real" / "x.py")
    assert len(run("link/../x.py", "x.py")) == 2


def test_settings(run: Run) -> None:
    (run.folder / "a.py").write_text(
        "import jax.numpy as jnp\ndef init(params):\n    return {'params': params, 'turn': 0}\n"
    )
    assert [each["code"] for each in run()] == ["SL102"]
    (run.folder / "pyproject.toml").write_text("[tool.statelint]\ncounter-names = ['turn']\n")
    assert [each["code"] for each in run()] == ["SL101"]
    assert run("--ignore", "SL101") == []
    assert [each["code"] for each in run()] == ["SL101"]


def test_paths_are_as_they_were_given(run: Run) -> None:
    (run.folder / "deep").mkdir()
    (run.folder / "deep" / "a.py").write_text(
        "import jax\ndef init(params):\n    return {'params': params, 'step': 0}\n"
    )
    for path in ("deep", "./deep/a.py", str(run.folder / "deep"), "deep/a.py"):
        assert [each["code"] for each in run(path)] == ["SL101"]


def test_where_it_is_kept(run: Run) -> None:
    (run.folder / "a.py").write_text("import jax\n")
    run.findings("--no-cache")
    assert sorted(path.name for path in run.folder.iterdir()) == ["a.py", "pyproject.toml"]
    run.findings("--cache-dir", "elsewhere")
    assert (run.folder / "elsewhere").is_dir()
    assert not (run.folder / ".statelint_cache").exists()
    run.findings()
    kept = sorted(path.name.partition("-")[0] for path in (run.folder / ".statelint_cache").iterdir())
    assert kept == [".gitignore", "CACHEDIR.TAG", "source"]
    subprocess.run(["git", "init", "-q"], check=True)
    status = subprocess.run(["git", "status", "--porcelain"], capture_output=True, text=True, check=True).stdout
    assert ".statelint_cache" not in status


def test_clean(run: Run) -> None:
    (run.folder / "a.py").write_text("import jax\n")
    run.findings()
    assert main(["clean"]) == 0
    assert run.capsys.readouterr().out == "Deleted .statelint_cache\n"
    assert not (run.folder / ".statelint_cache").exists()
    assert main(["clean"]) == 0
    assert run.capsys.readouterr().out == "There is no cache in .statelint_cache\n"


def test_clean_takes_a_link_away_too(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    (run.folder / "elsewhere").mkdir()
    (run.folder / ".statelint_cache").symlink_to("elsewhere")
    (run.folder / "a.py").write_text("import jax\n")
    run.findings()
    assert main(["clean"]) == 0
    capsys.readouterr()
    assert not (run.folder / ".statelint_cache").is_symlink()
    assert list((run.folder / "elsewhere").iterdir()) == []


def test_a_folder_that_is_a_file(run: Run) -> None:
    (run.folder / "a.py").write_text("import jax\ndef init(params):\n    return {'params': params, 'step': 0}\n")
    (run.folder / ".statelint_cache").write_text("mine")
    assert [each["code"] for each in run()] == ["SL101"]
    assert (run.folder / ".statelint_cache").read_text() == "mine"


def test_a_folder_for_the_cache_that_is_a_file(run: Run) -> None:
    (run.folder / "mine").write_text("mine")
    for command in (["check"], ["clean"]):
        assert main([*command, "--cache-dir", "mine"]) == 2
        assert run.capsys.readouterr().err == "statelint: error: --cache-dir: mine is not a folder\n"


def test_a_name_that_is_not_unicode(run: Run) -> None:
    with open(os.fsencode(run.folder) + b"/\xff.py", "w") as stream:
        stream.write("import jax\ndef init(params):\n    return {'params': params, 'step': 0}\n")
    assert [each["code"] for each in run()] == ["SL101"]
    assert [each["code"] for each in run()] == ["SL101"]


# --- several processes ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files enough for several processes, of which many build what others define."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(4):
        shutil.copytree(ROOT / "fixtures", folder / f"copy{number}", ignore=shutil.ignore_patterns("*.toml"))
    (folder / "states.py").write_text(STATE.format(field="step"))
    for number in range(40):
        padding = "# of a length\n" * 1000
        (folder / f"user{number}.py").write_text(padding + BUILDS.format(module="states"))
    size = sum(path.stat().st_size for path in folder.rglob("*.py"))
    assert size > 2 * reading.SHARE
    return folder


def test_processes_say_what_one_says(
    many: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(many)
    run = Run(many, capsys)
    alone = run.findings("--no-cache", "-j1", "--isolated")
    assert len(alone) > 100
    for jobs in ("2", "5"):
        assert run.findings("--no-cache", "-j", jobs, "--isolated") == alone
    assert run.findings("--cache-dir", "kept", "-j2", "--isolated") == alone
    read = count_read(monkeypatch)
    assert run.findings("--cache-dir", "kept", "--isolated") == alone
    assert read == []


def test_a_process_that_dies_is_made_up_for(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = sorted(many.rglob("*.py"))
    files = [(str(path), path.read_bytes()) for path in paths]
    nothing = Cache(FileReport, None)
    alone = reading.read(files, Names(), known=nothing)
    ours, report = os.getpid(), reading._report

    def die(one: Any) -> FileReport:
        if os.getpid() != ours and one.path.endswith("7.py"):
            os.kill(os.getpid(), signal.SIGKILL)
        return report(one)

    monkeypatch.setattr(reading, "_report", die)
    assert reading.read(files, Names(), known=nothing, jobs=2) == alone


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_a_run_ends_its_processes(many: Path, number: signal.Signals) -> None:
    code = (
        f"import os, signal, time\nsignal.signal({number}, signal.SIG_DFL)\n"
        "from statelint import reading\nfrom statelint.cli import main\n"
        "def wait(*_):\n    os.write(1, b'reads\\n')\n    time.sleep(600)\n"
        "reading._report = wait\nmain(['--no-cache', '-j2', '--isolated', '.'])\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=many, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert [run.stdout.readline() for _ in range(2)] == ["reads\n", "reads\n"]
        run.send_signal(number)
        assert run.wait() == -number
        assert run.stdout.read() == ""  # nobody holds it any more


def test_what_a_process_that_dies_has_read_is_read_again(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last word would have been what that was read from."""
    files = [(str(path), path.read_bytes()) for path in sorted(many.rglob("*.py"))]
    kept = many / "mortal" / f"source-{'0' * 32}.cache"
    ours, finish = os.getpid(), reading._Reader.looked.fget

    def die(reader: reading._Reader) -> reading.Looked:
        if os.getpid() != ours:
            os.kill(os.getpid(), signal.SIGKILL)
        assert finish is not None
        found: reading.Looked = finish(reader)
        return found

    monkeypatch.setattr(reading._Reader, "looked", property(die))
    reading.read(files, Names(), known=Cache(FileReport, str(kept)), jobs=2)
    users = [(path, data) for path, data in files if "user" in path]
    changed = [(path, data) for path, data in files if path.endswith("states.py")]
    (path, data) = changed[0]
    known = Cache(FileReport, str(kept)).known([*users, (path, data + b"\n")])
    assert not known.keys() & {path for path, _ in users}


def test_progress_counts_each_file_once(many: Path) -> None:
    files = [(str(path), path.read_bytes()) for path in sorted(many.rglob("*.py"))]
    for jobs in (1, 2):
        told: list[int] = []
        reading.read(files, Names(), known=Cache(FileReport, None), jobs=jobs, told=told.append)
        assert sum(told) == len(files)


# --- files that do not mention JAX ----------------------------------------------------------------------


def test_a_syntax_error_without_jax_is_reported(run: Run) -> None:
    (run.folder / "a.py").write_text("def f(:\n")
    assert [each["code"] for each in run()] == ["SL900"]


def test_many_files_without_jax_are_not_parsed_and_counted(run: Run) -> None:
    (run.folder / "a.py").write_text("def f(:\n")
    (run.folder / "b.py").write_text("import jax\ndef f(:\n")
    (run.folder / "long.py").write_text("# long\n" * (words.PARSED_AT_MOST // 7 + 1))
    assert [(each["path"], each["code"]) for each in run()] == [("b.py", "SL900")]
    assert main(["--no-probe"]) == 1
    assert run.capsys.readouterr().out.splitlines()[-1] == (
        "1 error in 3 files (1 file not parsed, 2 files without JAX not parsed)"
    )
    (run.folder / "b.py").unlink()
    assert main(["--no-probe"]) == 0
    assert run.capsys.readouterr().out == "Nothing found in 2 files (2 files without JAX not parsed)\n"
    (run.folder / "long.py").unlink()
    assert [each["path"] for each in run()] == ["a.py"]


# --- killed runs ----------------------------------------------------------------------------------------


def test_a_hundred_killed_runs_lose_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.kills", str(tmp_path), "100"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.startswith("killed 100 in ")
