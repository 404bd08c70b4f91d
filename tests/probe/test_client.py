"""The worker is a real process, and whatever user code does to it ends in a failure of that one probe."""

import contextlib
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from statelint.diagnostics import Location
from statelint.model.trace import ProbeFailure, ProbeSite, StepTrace
from statelint.probe import client

HEAD = "import os, signal, sys\nfrom statelint import Probe\n"
TAIL = "\nprobe = Probe(step=lambda s: s, state=init)\n"

FAULTS = {
    "raises": ("def init():\n    raise ValueError('no\\n  way')", "ValueError: no way", 4),
    "sys_exit": ("def init():\n    sys.exit(0)", r"the code calls sys\.exit\(0\)", 4),
    "os_exit": ("def init():\n    os._exit(0)", "ended by itself with exit code 0", None),
    "kills_itself": ("def init():\n    os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL", None),
    "segfault": ("import ctypes\ndef init():\n    ctypes.string_at(0)", "killed by SIGSEGV", None),
    "never_returns": ("def init():\n    while True:\n        pass", "did not end within 5 seconds", None),
    "floods": ("def init():\n    while True:\n        print('x' * 2**20)", "printed more than 64 MB", None),
    "floods_descriptor": (
        "def init():\n    while True:\n        os.write(1, b'x' * 2**20)",
        "printed more than 64 MB",
        None,
    ),
    "forks": ("def init():\n    os.fork()\n    return 0", "may not be forked", 4),
    "exits_at_import": ("init = int\nsys.exit('bye')", r"sys\.exit\('bye'\)", 4),
    "syntax_error": ("import broken\ninit = int", "SyntaxError", 1),
    "interrupts": ("def init():\n    raise KeyboardInterrupt", "KeyboardInterrupt", 4),
    "recurses": ("def init():\n    return init()", "RecursionError", 4),
    "garbles_the_channel": (
        "def init():\n    for fd in range(3, 64):\n"
        "        try: os.write(fd, b'{}\\n')\n        except OSError: pass\n    return 0",
        "statelint's own channel",
        None,
    ),
}


def job(file: Path, name: str = "probe") -> client.Job:
    line = next(number for number, text in enumerate(file.read_text().split("\n"), 1) if text.startswith("probe = "))
    return client.Job(ProbeSite(name, Location(str(file), line)), file=str(file))


def run(folder: Path, *files: Path, timeout: float = 300) -> list[client.Result]:
    return list(
        client.run([job(file, file.stem) for file in files], python=sys.executable, timeout=timeout, root=str(folder))
    )


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    file = tmp_path / "healthy.py"
    file.write_text(
        "from statelint import Probe\nimport jax.numpy as jnp\n"
        "probe = Probe(step=lambda s: s + 1, state=lambda: jnp.zeros(3))\n"
    )
    return file


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_fails_its_own_probe_and_no_other(tmp_path: Path, healthy: Path, fault: str) -> None:
    code, message, line = FAULTS[fault]
    (tmp_path / "broken.py").write_text("def f(:\n")
    file = tmp_path / f"{fault}.py"
    file.write_text(HEAD + code + TAIL)
    failed, well = run(tmp_path, file, healthy, timeout=5 if fault == "never_returns" else 300)
    assert isinstance(failed, ProbeFailure)
    assert re.search(message, failed.message)
    assert "\n" not in failed.message
    if line is not None:
        assert (Path(failed.at.path).name, failed.at.line) == (
            "broken.py" if fault == "syntax_error" else file.name,
            line,
        )
    assert isinstance(well, StepTrace)
    assert well.executables.loop == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"broken.py", file.name, "healthy.py"}), (
        "nothing is left behind"
    )


def test_a_hang_is_shown_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "hang.py"
    file.write_text(HEAD + "import time\ndef helper():\n    time.sleep(1000)\ndef init():\n    helper()" + TAIL)
    (failed,) = run(tmp_path, file, timeout=5)
    assert isinstance(failed, ProbeFailure)
    assert failed.at.line == 5


def test_children_of_user_code_do_not_outlive_the_run(tmp_path: Path) -> None:
    file = tmp_path / "spawns.py"
    file.write_text(
        HEAD + "import subprocess\nsubprocess.Popen(['sleep', '7654321'])\ndef init():\n    return 0" + TAIL
    )
    (well,) = run(tmp_path, file)
    assert isinstance(well, StepTrace)
    assert not [each for each in psutil.process_iter(["cmdline"]) if "7654321" in (each.info["cmdline"] or ())]


def test_a_probe_that_the_import_does_not_make(tmp_path: Path) -> None:
    file = tmp_path / "script.py"
    file.write_text("from statelint import Probe\nif __name__ == '__main__':\n    probe = Probe(step=len, state=0)\n")
    site = ProbeSite("probe", Location(str(file), 3))
    (failed,) = client.run([client.Job(site, file=str(file))], python=sys.executable, timeout=300, root=str(tmp_path))
    assert isinstance(failed, ProbeFailure)
    assert failed.message == "importing the file does not make this probe"
    assert failed.at.line == 3


def test_an_interpreter_that_cannot_start(tmp_path: Path, healthy: Path) -> None:
    (failed,) = client.run([job(healthy)], python=str(tmp_path / "nowhere"), timeout=300, root=str(tmp_path))
    assert isinstance(failed, ProbeFailure)
    assert "cannot be started" in failed.message


def test_an_interpreter_without_jax(tmp_path: Path, healthy: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    (failed,) = client.run([job(healthy)], python=str(bare / "bin/python"), timeout=300, root=str(tmp_path))
    assert isinstance(failed, ProbeFailure)
    assert "jax is not installed for" in failed.message


def test_an_interpreter_with_jax_but_without_statelint(
    tmp_path: Path, healthy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    foreign = tmp_path / "foreign"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(foreign)], check=True)
    (packages,) = foreign.glob("lib/python*/site-packages")
    import jax
    import jaxlib
    import ml_dtypes
    import numpy
    import opt_einsum
    import scipy

    for module in (jax, jaxlib, ml_dtypes, numpy, opt_einsum, scipy):
        assert module.__file__ is not None
        folder = Path(module.__file__).parent
        for part in (folder, *folder.parent.glob(f"{folder.name}*.libs")):
            (packages / part.name).symlink_to(part)
    lacks = (
        "import importlib.util as u; print([n for n in ('statelint', 'msgspec', 'libcst', 'click') if u.find_spec(n)])"
    )
    python = str(foreign / "bin/python")
    assert (
        subprocess.run([python, "-c", lacks], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.strip()
        == "[]"
    )
    (well,) = client.run([job(healthy)], python=python, timeout=300, root=str(tmp_path))
    assert isinstance(well, StepTrace)


def test_files_of_one_name_in_two_folders(tmp_path: Path) -> None:
    files = []
    for folder, shape in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "helper.py").write_text(f"SHAPE = ({shape},)\n")
        file = tmp_path / folder / "same.py"
        file.write_text(
            "from statelint import Probe\nimport helper\nimport jax.numpy as jnp\n"
            "def init():\n    return jnp.zeros(helper.SHAPE)\nprobe = Probe(step=lambda s: s, state=init)\n"
        )
        files.append(file)
    one, two = run(tmp_path, *files)
    assert isinstance(one, StepTrace)
    assert isinstance(two, StepTrace)
    assert [str(trace.leaves[0].aval) for trace in (one, two)] == ["float32[1]", "float32[2]"]


@pytest.mark.parametrize("name", ["token.py", "01-run.py", "src/pkg/train.py", "space in name.py"])
def test_files_that_are_hard_to_import(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    relative = "from .sibling import ONE\n" if "pkg" in name else "ONE = 1\n"
    (file.parent / "sibling.py").write_text("ONE = 1\n")
    file.write_text(
        f"from statelint import Probe\n{relative}def init():\n    return ONE\n"
        "probe = Probe(step=lambda s: s + 1, state=init)\n"
    )
    (well,) = run(tmp_path, file)
    assert isinstance(well, StepTrace), well


def test_a_probe_in_toml_with_its_environment(tmp_path: Path) -> None:
    (tmp_path / "project.py").write_text(
        "import os\nimport jax.numpy as jnp\n"
        "class Model:\n"
        "    @staticmethod\n    def init(shape):\n"
        "        return {'x': jnp.zeros(shape.shape), 'n': int(os.environ['N'])}\n"
        "    @staticmethod\n    def step(batch, state):\n"
        "        return {'x': state['x'] + batch['b'][0], 'n': state['n']}, batch\n"
    )
    table = {
        "step": "project:Model.step",
        "state": "project:Model.init",
        "args": [{"b": ["f32[3]"]}],
        "state_args": ["f32[3]"],
        "state_argnum": 1,
        "returns": 0,
        "env": {"N": "5"},
    }
    site = ProbeSite("toml", Location("pyproject.toml", 3))
    (well,) = client.run([client.Job(site, table=table)], python=sys.executable, timeout=300, root=str(tmp_path))
    assert isinstance(well, StepTrace), well
    assert [leaf.path for leaf in well.leaves] == ["['n']", "['x']"]
    assert well.executables.loop == 1


def test_a_probe_in_code_asks_for_its_environment(tmp_path: Path, healthy: Path) -> None:
    file = tmp_path / "asks.py"
    file.write_text(
        "import os\nfrom statelint import Probe\nimport jax\n"
        "def init():\n    assert jax.device_count() == 3\n    return 0\n"
        "three = {'XLA_FLAGS': '--xla_force_host_platform_device_count=3'}\n"
        "probe = Probe(step=lambda s: s + 1, state=init, env=three)\n"
    )
    results = run(tmp_path, file, healthy)
    assert [type(result) for result in results] == [StepTrace, StepTrace], results
    assert {result.probe.name for result in results} == {"asks", "healthy"}


def test_the_cpu_is_the_platform_unless_the_probe_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAX_PLATFORMS", "tpu")
    file = tmp_path / "backend.py"
    file.write_text(
        "from statelint import Probe\nimport jax\nassert jax.default_backend() == 'cpu'\n"
        "probe = Probe(step=lambda s: s + 1, state=0)\n"
    )
    (well,) = run(tmp_path, file)
    assert isinstance(well, StepTrace), well


def test_variables_that_user_code_sets_before_it_imports_jax(tmp_path: Path) -> None:
    file = tmp_path / "wide.py"
    file.write_text(
        "import os\nos.environ['JAX_ENABLE_X64'] = '1'\nimport jax.numpy as jnp\nfrom statelint import Probe\n"
        "probe = Probe(step=lambda s: s + 1, state=lambda: jnp.zeros(3))\n"
    )
    (well,) = run(tmp_path, file)
    assert isinstance(well, StepTrace), well
    assert str(well.leaves[0].aval) == "float64[3]"


def test_two_probes_on_one_line_are_two(tmp_path: Path) -> None:
    file = tmp_path / "pair.py"
    line = "probe = Probe(step=lambda s: s, state=0); other = Probe(step=lambda s: s + 1.0, state=0)"
    file.write_text(f"from statelint import Probe\n{line}\n")
    sites = [ProbeSite(name, Location(str(file), 2)) for name in ("probe", "other")]
    jobs = [client.Job(site, file=str(file)) for site in sites]
    results = list(client.run(jobs, python=sys.executable, timeout=300, root=str(tmp_path)))
    assert [result.probe.name for result in results] == ["probe", "other"]


def test_settings_of_one_file_do_not_reach_the_next(tmp_path: Path) -> None:
    changing = tmp_path / "a_changing.py"
    changing.write_text(
        "import os, jax, jax.numpy as jnp\nfrom statelint import Probe\n"
        "jax.config.update('jax_enable_x64', True)\nos.chdir('/')\n"
        "probe = Probe(step=lambda s: s, state=lambda: jnp.zeros(3))\n"
    )
    (tmp_path / "data.txt").write_text("3")
    plain = tmp_path / "b_plain.py"
    plain.write_text(
        "import jax.numpy as jnp\nfrom statelint import Probe\nsize = int(open('data.txt').read())\n"
        "probe = Probe(step=lambda s: s, state=lambda: jnp.zeros(size))\n"
    )
    wide, narrow = run(tmp_path, changing, plain)
    assert isinstance(wide, StepTrace), wide
    assert isinstance(narrow, StepTrace), narrow
    assert [str(trace.leaves[0].aval) for trace in (wide, narrow)] == ["float64[3]", "float32[3]"]


def test_a_module_that_fails_is_imported_once(tmp_path: Path) -> None:
    file = tmp_path / "fails.py"
    file.write_text(
        "from statelint import Probe\nopen('runs.txt', 'a').write('x')\n"
        "probe = Probe(step=len, state=0)\nother = Probe(step=len, state=0)\nraise ValueError\n"
    )
    jobs = [client.Job(ProbeSite("p", Location(str(file), line)), file=str(file)) for line in (3, 4)]
    results = list(client.run(jobs, python=sys.executable, timeout=300, root=str(tmp_path)))
    assert [type(result) for result in results] == [ProbeFailure, ProbeFailure]
    assert (tmp_path / "runs.txt").read_text() == "x"


def test_a_job_that_is_done_without_a_result(tmp_path: Path) -> None:
    file = tmp_path / "spoof.py"
    spoof = (
        'for fd in range(3, 32):\n    try: os.write(fd, b\'{"job": 0, "event": "done"}\\n\')\n    except OSError: pass'
    )
    file.write_text(f"{HEAD}{spoof}\nprobe = Probe(step=lambda s: 1 / 0, state=0)\n")
    (failed,) = run(tmp_path, file)
    assert isinstance(failed, ProbeFailure)
    assert failed.message == "it gave no result"


@pytest.mark.parametrize("python", ["/bin/ls", "/bin/true"])
def test_what_is_no_python(tmp_path: Path, healthy: Path, python: str) -> None:
    (failed,) = client.run([job(healthy)], python=python, timeout=300, root=str(tmp_path))
    assert isinstance(failed, ProbeFailure)
    assert failed.message.startswith(f"{python} cannot run probes: ")


def test_the_worker_goes_when_the_client_is_killed(tmp_path: Path) -> None:
    file = tmp_path / "sleeps.py"
    file.write_text(HEAD + "import subprocess, time\nsubprocess.Popen(['sleep', '7654322'])\ntime.sleep(600)" + TAIL)
    run = subprocess.Popen([sys.executable, "-m", "statelint", str(file)], cwd=tmp_path)

    def below() -> list[psutil.Process]:
        return psutil.Process(run.pid).children(recursive=True)

    wait_until(lambda: len(below()) == 2)
    worker, sleeper = below()
    run.kill()
    run.wait()
    wait_until(lambda: not is_alive(worker) and not is_alive(sleeper))


def is_alive(process: psutil.Process) -> bool:
    """Whether it runs; one that has ended may stay listed until its new parent looks."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never came to hold")
