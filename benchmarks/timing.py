"""How long a command takes, and how much memory."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from benchmarks.peers import Command

SAMPLE = 0.01
"""Seconds between two looks at the memory."""

Start = Callable[[], "subprocess.Popen[bytes]"]


class RunError(Exception):
    """A command has not done its work."""


@dataclasses.dataclass(frozen=True)
class Run:
    """A command that can be run again and again.

    Attributes:
        prepare: what is done before each time, and not measured.
        exits: exit codes of a run that has done its work, whether it found something or not.
    """

    command: Command
    folder: Path
    prepare: Callable[[], object] = lambda: None
    exits: tuple[int, ...] = (0, 1)

    def measured(self, measure: Callable[[Start], float]) -> float:
        """What is measured of one run: `seconds` or `peak`.

        Raises:
            RunError: it ended with another exit code, or in a traceback.
        """
        self.prepare()
        with tempfile.TemporaryFile() as errors:
            started = []

            def start() -> subprocess.Popen[bytes]:
                process = subprocess.Popen(self.command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=errors)
                started.append(process)
                return process

            found = measure(start)
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        if started[0].returncode not in self.exits or "Traceback" in said:
            raise RunError(f"{' '.join(self.command)[:200]}: exit code {started[0].returncode}\n{said[-2000:]}")
        return found


def seconds(start: Start) -> float:
    """The wall time."""
    begin = time.perf_counter()
    start().wait()
    return time.perf_counter() - begin


def peak(start: Start) -> float:
    """The most memory that the process and all below it hold at any one time, in bytes."""
    process, most = start(), 0
    top = psutil.Process(process.pid)
    while process.poll() is None:
        most = max(most, _resident(top))
        time.sleep(SAMPLE)
    return most


def _resident(top: psutil.Process) -> int:
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        for process in (top, *top.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
    return total


def race(theirs: Run, ours: Run, rounds: int) -> tuple[float, float]:
    """The seconds of both, in turn; the best of each counts, so that the first round warms."""
    both = [(theirs.measured(seconds), ours.measured(seconds)) for _ in range(rounds)]
    return min(first for first, _ in both), min(second for _, second in both)
