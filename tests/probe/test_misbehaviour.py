"""Whatever user code does to the worker ends in a failure of that one probe, at its line, and leaves nothing behind."""

import re
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest

from statelint.model.trace import ProbeFailure, StepTrace
from tests.probe.running import HEALTHY, line_of, run, with_argument, write

HEAD = "import os, signal, sys, time\nfrom statelint import Probe\n\nstep = lambda state: state\n"
TAIL = "\nprobe = Probe(step=step, state=init)\n"
SLOW = 10.0
"""Seconds for what hangs; the healthy probe beside it takes less."""


class Fault(NamedTuple):
    """What code does, and what is said of it: at the line with `# here`, or else where the probe is declared."""

    code: str
    message: str
    timeout: float = 300
    memory: int | None = None


FAULTS = {
    # It ends, or does not.
    "raises": Fault("def init():\n    raise ValueError('no\\n  way')  # here", "ValueError: no way"),
    "exits": Fault("def init():\n    sys.exit(0)  # here", r"the code calls sys\.exit\(0\)"),
    "exits_at_import": Fault("init = int\nsys.exit('bye')  # here", r"sys\.exit\('bye'\)"),
    "exits_at_once": Fault("def init():\n    os._exit(0)", "ended by itself with exit code 0"),
    "kills_itself": Fault("def init():\n    os.kill(os.getpid(), signal.SIGKILL)", "killed by SIGKILL"),
    "crashes": Fault("import ctypes\ndef init():\n    ctypes.string_at(0)  # here", "killed by SIGSEGV"),
    "aborts": Fault("def init():\n    os.abort()  # here", "killed by SIGABRT"),
    "is_alarmed": Fault("signal.alarm(1)\ndef init():\n    time.sleep(1000)", "killed by SIGALRM"),
    "is_dumped": Fault(
        "import faulthandler\ndef init():\n    faulthandler.dump_traceback_later(0.1, exit=True)\n"
        "    while True: pass  # here",
        "ended by itself with exit code 1",
    ),
    "interrupts": Fault("def init():\n    raise KeyboardInterrupt  # here", "KeyboardInterrupt"),
    "never_returns": Fault(
        "def init():\n    while True: pass  # here", r"did not end within 10 seconds \(probe-timeout\)", SLOW
    ),
    "ignores_signals": Fault(
        "for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):\n"
        "    signal.signal(number, signal.SIG_IGN)\n"
        "def init():\n    while True: pass",
        "did not end within 10 seconds",
        SLOW,
    ),
    "hangs_in_a_finalizer": Fault(
        "class Hanging:\n    def __del__(self):\n        while True: pass  # here\n"
        "def init():\n    Hanging()\n    return 0",
        "did not end within 10 seconds",
        SLOW,
    ),
    "grows_its_program": Fault(
        "def init():\n    return jnp.zeros(3)\nimport jax.numpy as jnp\n"
        "def step(state):\n    while True: state = state + 1  # here",
        "did not end within 10 seconds",
        SLOW,
    ),
    # It is without bounds.
    "floods": Fault("def init():\n    while True: print('x' * 2**20)  # here", "printed more than 64 MB"),
    "floods_a_descriptor": Fault(
        "def init():\n    while True: os.write(1, b'x' * 2**20)  # here", "printed more than 64 MB"
    ),
    "recurses": Fault("def init():\n    return init()  # here", "RecursionError"),
    "leaks": Fault(
        "def init():\n    kept = []\n    while True: kept.append(b'x' * 10**7)  # here",
        r"took more than 1 GB of memory \(probe-memory\)",
        memory=10**9,
    ),
    "leaks_in_a_child": Fault(
        "import subprocess\nleak = '''kept = []\nwhile True: kept.append(bytes(range(250)) * 40000)'''\n"
        "def init():\n    subprocess.run([sys.executable, '-c', leak])  # here",
        "took more than 1 GB of memory",
        memory=10**9,
    ),
    # It lays hands on the process.
    "forks": Fault("def init():\n    os.fork()  # here\n    return 0", "may not be forked"),
    "forks_a_pool": Fault(
        "import multiprocessing\ndef init():\n"
        "    multiprocessing.get_context('fork').Process(target=print).start()  # here",
        "may not be forked",
    ),
    "spawns_and_waits": Fault(
        "import multiprocessing\ndef init():\n"
        "    child = multiprocessing.get_context('spawn').Process(target=time.sleep, args=(1000,))\n"
        "    child.start()\n    child.join()  # here",
        "did not end within 10 seconds",
        SLOW,
    ),
    "leads_a_session": Fault("def init():\n    os.setsid()  # here", "PermissionError"),
    "waits_for_a_cluster": Fault(
        "import jax\ndef init():\n    jax.distributed.initialize()  # here", "ValueError: coordinator_address"
    ),
    "garbles_the_channel": Fault(
        "def init():\n    [os.write(fd, b'{}\\n') for fd in (4, 5)], time.sleep(1000)  # here",
        "wrote into statelint's own channel",
    ),
    "spoofs_the_channel": Fault(
        '[os.write(fd, b\'{"event": "done"}\\n\') for fd in (4, 5)], time.sleep(1000)  # here\ninit = int',
        "wrote into statelint's own channel",
    ),
    "closes_its_output": Fault(
        "os.close(1), os.close(2)\ndef init():\n    print('lost')  # here",
        "OSError: .* Bad file descriptor",
    ),
    "closes_its_streams": Fault(
        "def init():\n    sys.stdout.close(), sys.stderr.close()\n    print('lost')  # here",
        "ValueError: I/O operation",
    ),
    "closes_everything": Fault(
        "def init():\n    os.closerange(0, 256)\n    return 0",
        "closed statelint's own channel",
    ),
    "goes_elsewhere": Fault(
        "os.chdir('/')\ndef init():\n    open('healthy.py')  # here", "FileNotFoundError: .*'healthy.py'"
    ),
    # It lays hands on Python.
    "forgets_all_modules": Fault("def init():\n    sys.modules.clear()\n    import tests  # here", "."),
    "forgets_jax": Fault(
        "import jax\nfor name in [*sys.modules]:\n    if name.startswith(('jax', 'statelint')): del sys.modules[name]\n"
        "init = int",
        ".",
    ),
    "patches_json": Fault(
        "import json\ndef patch(*_, **__):\n    raise RuntimeError('patched')  # here\n"
        "json.dumps = json.JSONEncoder.encode = json.JSONEncoder.iterencode = patch\ninit = int",
        "exit code 1",
    ),
    "patches_builtins": Fault(
        "import builtins\ndef patch(*_):\n    raise RuntimeError('patched')  # here\n"
        "builtins.isinstance = patch\ninit = int",
        "exit code 1",
    ),
    "patches_open": Fault(
        "import builtins\nbuiltins.open = None\ndef init():\n    raise ValueError('no way')  # here",
        "ValueError: no way",
    ),
    "limits_recursion": Fault(
        "def deep(n):\n    return n and deep(n - 1)  # here\n"
        "def init():\n    sys.setrecursionlimit(100)\n    return deep(500)",
        "RecursionError",
    ),
    "makes_errors_of_warnings": Fault(
        "import warnings\nwarnings.simplefilter('error')\ndef init():\n    warnings.warn('old')  # here",
        "UserWarning: old",
    ),
    "traces_itself": Fault(
        "def trace(*_):\n    raise KeyboardInterrupt  # here\n"
        "def init():\n    sys.settrace(trace)\n    helper()\ndef helper():\n    pass",
        "KeyboardInterrupt",
    ),
    # Its objects bite.
    "repr_raises": Fault(
        "class Biting:\n    def __repr__(self):\n        raise KeyboardInterrupt('repr')  # here\n"
        "def init():\n    return {'leaf': Biting()}",
        "KeyboardInterrupt: repr",
    ),
    "flatten_raises": Fault(
        "import jax\n@jax.tree_util.register_pytree_node_class\nclass Biting:\n    def tree_flatten(self):\n"
        "        raise KeyboardInterrupt('flatten')  # here\n    @classmethod\n    def tree_unflatten(cls, *_):\n"
        "        return cls()\ndef init():\n    return Biting()",
        "KeyboardInterrupt: flatten",
    ),
    "unflatten_exits": Fault(
        "import jax\n@jax.tree_util.register_pytree_node_class\nclass Biting:\n    def tree_flatten(self):\n"
        "        return (1.0,), None\n    @classmethod\n    def tree_unflatten(cls, aux, leaves):\n"
        "        sys.exit(3)  # here\ndef init():\n    return Biting()",
        r"sys\.exit\(3\)",
    ),
    "aux_raises": Fault(
        "import jax\nclass Aux:\n    def __eq__(self, other):\n        raise KeyboardInterrupt('eq')  # here\n"
        "    def __hash__(self):\n        raise KeyboardInterrupt('hash')\n"
        "@jax.tree_util.register_pytree_node_class\nclass Biting:\n    def tree_flatten(self):\n"
        "        return (1.0,), Aux()\n    @classmethod\n    def tree_unflatten(cls, aux, leaves):\n"
        "        return cls()\ndef init():\n    return Biting()",
        "KeyboardInterrupt: eq",
    ),
    "error_cannot_be_told": Fault(
        "class Biting(Exception):\n    def __str__(self):\n        raise SystemExit\n"
        "def init():\n    raise Biting  # here",
        "Biting",
    ),
}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_fails_its_own_probe_and_no_other(tmp_path: Path, temporary: Path, name: str) -> None:
    fault = FAULTS[name]
    project = tmp_path / "project"
    file = write(project / f"{name}.py", HEAD + fault.code + TAIL)
    healthy = write(project / "healthy.py", HEALTHY)
    failed, well = run(project, file, healthy, timeout=fault.timeout, memory=fault.memory)
    assert isinstance(failed, ProbeFailure), failed
    assert re.search(fault.message, failed.message)
    assert "\n" not in failed.message
    line = line_of(file, "# here" if "# here" in fault.code else "probe = ")
    assert (Path(failed.at.path).name, failed.at.line) == (file.name, line), failed
    assert isinstance(well, StepTrace), well
    assert well.executables.loop == 1
    assert {path.name for path in project.iterdir()} == {file.name, healthy.name}, "nothing is left behind"
    assert not any(temporary.iterdir())


WHIMS = {
    "a_thread_never_ends": "import threading\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
    "an_exit_hook_hangs": "import atexit\natexit.register(time.sleep, 1000)",
    "a_hook_exits": "sys.excepthook = lambda *_: os._exit(1)",
    "a_temporary_file_stays": "import tempfile\nkept = tempfile.mkdtemp()",
    "it_prints": "print('x' * 10**6)",
}


@pytest.mark.parametrize("name", WHIMS)
def test_what_does_no_harm_is_let_be(tmp_path: Path, temporary: Path, name: str) -> None:
    file = write(tmp_path / f"{name}.py", HEAD + WHIMS[name] + "\ninit = int" + TAIL)
    odd, well = run(tmp_path, file, write(tmp_path / "healthy.py", HEALTHY))
    assert isinstance(odd, StepTrace), odd
    assert isinstance(well, StepTrace), well
    assert not any(temporary.iterdir())


@pytest.mark.parametrize("name", ["raises", "crashes", "closes_its_output"])
def test_probes_before_and_after_a_fault(tmp_path: Path, name: str) -> None:
    file = write(tmp_path / f"{name}.py", HEAD + FAULTS[name].code + TAIL)
    before, after = (write(tmp_path / f"{name}.py", HEALTHY) for name in ("before", "after"))
    results = run(tmp_path, before, file, after)
    assert [type(result) for result in results] == [StepTrace, ProbeFailure, StepTrace]
    assert [result.probe.name for result in results] == ["before", name, "after"]
    assert results[1].at.line == line_of(file, "# here")


BLAMELESS = {
    "a_low_recursion_limit": ("sys.setrecursionlimit(400)", "def deep(n):\n    return n and deep(n - 1)\ndeep(800)"),
    "errors_of_warnings": ("import warnings\nwarnings.simplefilter('error')", "import warnings\nwarnings.warn('old')"),
    "a_patch": ("import json\njson.loads = None", "import json\njson.loads('1')"),
    "an_alarm": ("def step(state):\n    signal.alarm(2)\n    return state", "time.sleep(3)"),
    "memory_that_is_kept": ("kept = b'x' * 6 * 10**8", "kept = b'x' * 6 * 10**8\ntime.sleep(1)"),
}


@pytest.mark.parametrize("name", BLAMELESS)
def test_what_one_file_does_is_not_held_against_the_next(tmp_path: Path, name: str) -> None:
    files = [
        write(tmp_path / f"{place}.py", HEAD + code + "\ninit = int" + TAIL)
        for place, code in zip(("first", "second"), BLAMELESS[name], strict=True)
    ]
    for result in run(tmp_path, *files, memory=10**9):
        assert isinstance(result, StepTrace), result


def test_the_other_probes_of_a_line_are_reported(tmp_path: Path) -> None:
    loop = "import ctypes\nfor init in (int, float, lambda: ctypes.string_at(0)):\n    "
    file = write(tmp_path / "loop.py", HEAD + loop + TAIL.strip())
    results = run(tmp_path, file)
    assert [type(result) for result in results] == [StepTrace, StepTrace, ProbeFailure]


@pytest.mark.parametrize("how", ["", ", start_new_session=True"])
def test_children_of_user_code_do_not_outlive_the_run(tmp_path: Path, how: str) -> None:
    child = f"import subprocess\nsubprocess.Popen(['sleep', '76543{len(how)}']{how})\n"
    file = write(tmp_path / "spawns.py", HEAD + child + "init = int" + TAIL)
    crash = write(tmp_path / "crashes.py", HEAD + child + "def init():\n    os.abort()" + TAIL)
    results = run(tmp_path, file, crash)
    assert [type(result) for result in results] == [StepTrace, ProbeFailure]
    assert not with_argument(f"76543{len(how)}")
