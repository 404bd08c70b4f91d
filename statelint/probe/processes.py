"""The processes of a worker: the memory that they hold, and the end of them all.

Standard library only: the worker uses this, too. What user code starts may leave the worker's group and session,
but it has the worker's environment, and in it a mark.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping

MARK = "STATELINT_WORKER"
"""The variable that marks all processes of a worker; its value is their folder for temporary files."""
HAS_PROC = os.path.isdir("/proc/self/task")
PAUSE = 0.1 if HAS_PROC else 1.0
"""Seconds between two looks at the memory: code that does nothing else fills some 0.1 GB in 0.1 of them."""
_ROUNDS = 10


def new_environment() -> dict[str, str]:
    """The variables that mark a worker, with a new folder for all that it and its children leave in temporary files."""
    folder = tempfile.mkdtemp(prefix="statelint-")
    return {MARK: folder, "TMPDIR": folder}


def end_all(environment: Mapping[str, str], *, but: int) -> None:
    """End what bears this mark, except for one process, and remove its folder."""
    for _ in range(_ROUNDS):
        # A process that starts another while we look leaves one for the next round.
        marked = [pid for pid in _marked(f"{MARK}={environment[MARK]}".encode()) if pid != but]
        if not marked:
            break
        for pid in marked:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    shutil.rmtree(environment[MARK], ignore_errors=True)


def _marked(mark: bytes) -> Iterator[int]:
    for name in os.listdir("/proc") if HAS_PROC else ():
        # Those of others cannot be read; a process that has ended has no environment left.
        with contextlib.suppress(OSError):
            if name.isdecimal() and mark in _read(f"/proc/{name}/environ").split(b"\0"):
                yield int(name)


def memory(pid: int) -> int:
    """The bytes of physical memory that a process and its descendants hold; 0 where the system does not tell."""
    return sum(_of_tree(pid) if HAS_PROC else _of_table(pid))


def half_of_all() -> int | None:
    """Half of the machine's memory in bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return None


def _of_tree(pid: int) -> Iterator[int]:
    """By Linux' /proc: from parents to children, for the table of all processes may be long."""
    waiting = [pid]
    while waiting:
        folder = f"/proc/{waiting.pop()}"
        with contextlib.suppress(OSError):
            yield int(_read(f"{folder}/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")
            for task in os.listdir(f"{folder}/task"):
                with contextlib.suppress(OSError):
                    waiting += map(int, _read(f"{folder}/task/{task}/children").split())


def _of_table(pid: int) -> Iterator[int]:
    """By `ps`, elsewhere."""
    command = ["ps", "-A", "-o", "pid=,ppid=,rss="]
    try:
        table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return
    rows = [tuple(map(int, line.split())) for line in table.splitlines()]
    tree: set[int] = {pid}
    while below := {each for each, parent, _ in rows if parent in tree} - tree:
        tree |= below
    yield from (kilobytes * 1024 for each, _, kilobytes in rows if each in tree)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
