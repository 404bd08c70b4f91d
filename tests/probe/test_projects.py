"""Files of all kinds of projects are imported as the project itself would, and leave nothing behind."""

import sys
from pathlib import Path

import pytest

from statelint.diagnostics import Location
from statelint.model.trace import ProbeFailure, ProbeSite, StepTrace
from statelint.probe import client
from tests.probe.running import HEALTHY, line_of, run, write

PROBE = "from statelint import Probe\nprobe = Probe(step=lambda s: s + ONE, state=lambda: ONE)\n"

PROJECTS = {
    "a module": ("train.py", "from sibling import ONE\n"),
    "a module of a src layout": ("src/package/train.py", "from .sibling import ONE\n"),
    "a package's __init__": ("src/package/__init__.py", "from .sibling import ONE\n"),
    "a package in a package": ("outer/inner/train.py", "from .sibling import ONE\nfrom outer.inner import sibling\n"),
    "a namespace package": ("space/part/train.py", "from .sibling import ONE\n"),
    "a namespace package by name": ("space/part/train.py", "from space.part.sibling import ONE\n"),
    "a name that is no identifier": ("train-2.py", "from sibling import ONE\n"),
    "a name that begins with a number": ("01-run.py", "from sibling import ONE\n"),
    "a name with a space": ("my run.py", "from sibling import ONE\n"),
    "a folder with a dot": ("runs/v1.2/train.py", "from sibling import ONE\n"),
    "the name of a module of Python": ("token.py", "from sibling import ONE\n"),
    "the name of a package": ("optax.py", "from sibling import ONE\n"),
    "a script": (
        "script.py",
        "import sys\nfrom sibling import ONE\ndef main():\n    sys.exit('it ran')\n"
        "if __name__ == '__main__':\n    main()\n",
    ),
    "arguments at import": (
        "arguments.py",
        "import argparse\nfrom sibling import ONE\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--steps', type=int, default=3)\nassert parser.parse_args().steps == 3\n",
    ),
    "its own name in sys.argv": (
        "named.py",
        "import os, sys\nfrom sibling import ONE\n"
        "assert [os.path.basename(each) for each in sys.argv] == ['named.py']\n",
    ),
}


@pytest.mark.parametrize("kind", PROJECTS)
def test_a_file_of_a_project(tmp_path: Path, kind: str) -> None:
    name, head = PROJECTS[kind]
    file = write(tmp_path / name, head + PROBE)
    write(file.parent / "sibling.py", "ONE = 1\n")
    if "package" in kind and "namespace" not in kind and "name" not in kind:
        for folder in file.relative_to(tmp_path).parents:
            if folder.name not in ("", "src") and file.name != "__init__.py":
                write(tmp_path / folder / "__init__.py", "")
    before = sorted(tmp_path.rglob("*"))
    (well,) = run(tmp_path, file)
    assert isinstance(well, StepTrace), well
    assert sorted(tmp_path.rglob("*")) == before, "no bytecode, no cache"


def test_a_probe_that_only_the_script_makes(tmp_path: Path) -> None:
    file = write(tmp_path / "script.py", "ONE = 1\nif __name__ == '__main__':\n    " + PROBE.replace("\n", "\n    "))
    (failed,) = run(tmp_path, file)
    assert isinstance(failed, ProbeFailure)
    assert (failed.message, failed.at.line) == (
        "importing the file does not make this probe",
        line_of(file, "probe = "),
    )


def test_arguments_that_are_wanted_at_import(tmp_path: Path) -> None:
    file = write(
        tmp_path / "train.py",
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--data', required=True)\n"
        "ONE = parser.parse_args()  # here\n" + PROBE,
    )
    (failed,) = run(tmp_path, file)
    assert isinstance(failed, ProbeFailure)
    assert (failed.message, failed.at.line) == ("the code calls sys.exit(2)", line_of(file, "# here"))
    assert failed.last[-1] == "train.py: error: the following arguments are required: --data"


def test_flags_of_absl_that_two_scripts_define(tmp_path: Path) -> None:
    pytest.importorskip("absl")
    script = (
        "import sys\nfrom absl import app, flags\nflags.DEFINE_integer('size', 3, 'A size.')\n"
        "flags.FLAGS(sys.argv)\nONE = flags.FLAGS.size\nif __name__ == '__main__':\n    app.run(print)\n"
    )
    files = [write(tmp_path / name, script + PROBE) for name in ("one.py", "two.py")]
    for well in run(tmp_path, *files):
        assert isinstance(well, StepTrace), well


def test_a_jax_that_is_too_old(tmp_path: Path) -> None:
    write(tmp_path / "jax/__init__.py", "raise ImportError('it was imported')\n")
    write(tmp_path / "jax-0.4.30.dist-info/METADATA", "Metadata-Version: 2.1\nName: jax\nVersion: 0.4.30\n")
    files = [write(tmp_path / name, HEALTHY) for name in ("one.py", "two.py")]
    for failed in run(tmp_path, *files):
        assert isinstance(failed, ProbeFailure)
        assert failed.message == "jax 0.4.30 is too old: the probe needs 0.5 or newer"
        assert failed.at == failed.probe.at


def test_code_for_a_gpu(tmp_path: Path) -> None:
    code = "import jax\nONE = 1\nassert jax.default_backend() == 'gpu'  # here\n"
    file = write(tmp_path / "train.py", code + PROBE)
    (failed,) = run(tmp_path, file)
    assert isinstance(failed, ProbeFailure)
    assert (failed.message, failed.at.line) == ("AssertionError", line_of(file, "# here"))


def test_the_platform_that_a_probe_asks_for(tmp_path: Path) -> None:
    write(
        tmp_path / "project.py",
        "import os\nassert os.environ['JAX_PLATFORMS'] == 'nowhere'\nimport jax\n"
        "def init():\n    jax.devices()  # here\n    return 0\ndef step(state):\n    return state\n",
    )
    table = {"step": "project:step", "state": "project:init", "env": {"JAX_PLATFORMS": "nowhere"}}
    job = client.Job(ProbeSite("toml", Location("pyproject.toml", 3)), table=table)
    (failed,) = client.run([job], python=sys.executable, timeout=300, root=str(tmp_path))
    assert isinstance(failed, ProbeFailure)
    assert "nowhere" in failed.message
    assert failed.at.line == line_of(tmp_path / "project.py", "# here")


def test_what_a_probe_imported_is_known(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    write(tmp_path / "sibling.py", "ONE = 1\n")
    files = [write(tmp_path / name, "from sibling import ONE\n" + PROBE) for name in ("one.py", "two.py")]
    one, two = run(tmp_path, *files)
    for trace, names in ((one, {"one.py", "sibling.py"}), (two, {"one.py", "two.py", "sibling.py"})):
        assert isinstance(trace, StepTrace), trace
        assert {Path(path).name for path in trace.imported if Path(path).is_relative_to(tmp_path)} == names
        assert jax.__file__ in trace.imported
        assert (trace.jax, trace.python) == (jax.__version__, sys.version.split()[0])
