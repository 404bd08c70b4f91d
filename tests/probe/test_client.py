"""The worker is a real process, under a real interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from statelint.diagnostics import Location
from statelint.model.trace import ProbeFailure, ProbeSite, StepTrace
from statelint.probe import client
from tests.probe.running import HEALTHY, is_alive, job, run, wait_until, write

HEAD = "import os, signal, sys\nfrom statelint import Probe\n"
TAIL = "\nprobe = Probe(step=lambda s: s, state=init)\n"


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    return write(tmp_path / "healthy.py", HEALTHY)


def test_a_hang_is_shown_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "hang.py"
    file.write_text(HEAD + "import time\ndef helper():\n    time.sleep(1000)\ndef init():\n    helper()" + TAIL)
    (failed,) = run(tmp_path, file, timeout=5)
    assert isinstance(failed, ProbeFailure)
    assert failed.at.line == 5


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


def test_keyword_arguments_are_given_with_partial(tmp_path: Path) -> None:
    file = write(
        tmp_path / "keywords.py",
        "from functools import partial\nimport jax.numpy as jnp\nfrom statelint import Probe\n"
        "def init(n, *, width):\n    return jnp.zeros((n.size, width))\n"
        "def step(state, x, *, rate):\n    return state - rate * x\n"
        "probe = Probe(partial(step, rate=0.1), partial(init, width=3), ('f32[2,3]',), state_args=('f32[2]',))\n",
    )
    (well,) = run(tmp_path, file)
    assert isinstance(well, StepTrace), well
    assert str(well.leaves[0].aval) == "float32[2,3]"
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


@pytest.mark.parametrize("python", ["/bin/ls", "/bin/true"])
def test_what_is_no_python(tmp_path: Path, healthy: Path, python: str) -> None:
    (failed,) = client.run([job(healthy)], python=python, timeout=300, root=str(tmp_path))
    assert isinstance(failed, ProbeFailure)
    assert failed.message.startswith(f"{python} cannot run probes: ")


def test_the_worker_goes_when_the_client_is_killed(tmp_path: Path) -> None:
    child = "import subprocess, time\nsubprocess.Popen(['sleep', '7654322'], start_new_session=True)\n"
    file = write(tmp_path / "sleeps.py", HEAD + child + "time.sleep(600)" + TAIL)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    run = subprocess.Popen([sys.executable, "-m", "statelint", "--no-cache", str(file)], cwd=tmp_path, env=environment)

    def below() -> list[psutil.Process]:
        return psutil.Process(run.pid).children(recursive=True)

    wait_until(lambda: len(below()) == 2)
    worker, sleeper = below()
    assert any(temporary.iterdir())
    run.kill()
    run.wait()
    wait_until(lambda: not is_alive(worker) and not is_alive(sleeper))
    wait_until(lambda: not any(temporary.iterdir()))
