"""The memory of real processes, and their end."""

import os
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest

from statelint.probe import processes
from tests.probe.running import is_alive, wait_until

HOLDS = "import sys; held = b'x' * 100_000_000; sys.stdout.write('held\\n'); sys.stdout.flush(); sys.stdin.read()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLDS!r}])"


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A process whose child holds 100 MB."""
    process = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    yield process
    process.communicate()


def test_memory_is_that_of_all_descendants(parent: subprocess.Popen[bytes]) -> None:
    whole = [psutil.Process(parent.pid), *psutil.Process(parent.pid).children(recursive=True)]
    expected = sum(process.memory_info().rss for process in whole)
    assert expected > 100_000_000
    assert processes.memory(parent.pid) == pytest.approx(expected, rel=0.05)
    assert sum(processes._of_table(parent.pid)) == pytest.approx(expected, rel=0.05)


def test_memory_of_a_process_that_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert processes.memory(process.pid) == 0


def test_half_of_all_memory() -> None:
    half = processes.half_of_all()
    assert half == pytest.approx(psutil.virtual_memory().total / 2, rel=0.01)


@pytest.mark.skipif(not processes.HAS_PROC, reason="only /proc tells the environment of a process")
def test_what_is_marked_is_ended_wherever_it_went() -> None:
    marks, others = processes.new_environment(), processes.new_environment()
    sleep = [sys.executable, "-c", "import time; time.sleep(1000)"]
    marked = subprocess.Popen(sleep, env={**os.environ, **marks}, start_new_session=True)
    other = subprocess.Popen(sleep, env={**os.environ, **others}, start_new_session=True)
    try:
        assert os.path.isdir(marks["TMPDIR"])
        processes.end_all(marks, but=other.pid)
        wait_until(lambda: not is_alive(psutil.Process(marked.pid)))
        assert other.poll() is None
        assert not os.path.exists(marks["TMPDIR"])
        processes.end_all(others, but=other.pid)
        assert other.poll() is None, "the one that is excepted"
    finally:
        other.kill()
        other.wait()
        marked.wait()
