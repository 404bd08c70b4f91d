"""Runs `statelint --fix` over a folder again and again, and kills it at some moment with SIGKILL.

A program of its own, run as `python -m tests.kills FOLDER TIMES`: each run is forked off it, so that what is killed is
work, not the start of an interpreter. What a killed run may leave, and what the next run makes of it, is checked each
time; the first thing that is not right is printed, and the exit code is 1.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path

from statelint import cli

CODE = """\
import jax.numpy as jnp


def init(params):
    return {{"params": params, "step": 0, "moments_{number}": {{"count": 0}}}}
"""

FILES = 12

FIX = ("--fix", "--no-probe", "--isolated", "-q", ".")


def prepare(folder: Path) -> dict[str, str]:
    """The folder with all files as they are before they are fixed."""
    code = {f"train_{number}.py": CODE.format(number=number) for number in range(FILES)}
    for name, text in code.items():
        (folder / name).write_text(text)
    return code


def start() -> int:
    """A run in a process of its own."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    with contextlib.suppress(BaseException):
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        os._exit(cli.main(FIX))
    os._exit(3)


def finish(child: int) -> int:
    """The exit code of a run; negative: the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def texts(folder: Path) -> dict[str, str]:
    """The files of a folder, whatever they are; the cache is none."""
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def wrong(folder: Path, before: dict[str, str], after: dict[str, str]) -> str | None:
    """What a killed run, and the next one, did not do right."""
    left = texts(folder)
    for name in before:
        if left[name] not in (before[name], after[name]):
            return f"{name} is neither as it was nor fixed:\n{left[name]}"
    if (code := finish(start())) != 0:
        return f"the next run ends with {code}"
    if (then := texts(folder)) != after:
        return f"the next run leaves {then.keys() ^ after.keys() or 'some files as they were'}"
    return None


def main(folder: Path, times: int) -> int:
    """Kill as many runs."""
    os.chdir(folder)
    before = prepare(folder)
    began = time.perf_counter()
    if (code := finish(start())) != 0:
        print(f"a run that nobody kills ends with {code}")
        return 1
    longest = time.perf_counter() - began
    after = texts(folder)
    moments = random.Random(0)
    killed = runs = 0
    while killed < times and runs < 10 * times:
        prepare(folder)
        child = start()
        time.sleep(moments.uniform(0, longest))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        runs += 1
        was_killed = finish(child) == -signal.SIGKILL
        killed += was_killed
        longest *= 1 if was_killed else 0.9
        if (fault := wrong(folder, before, after)) is not None:
            print(fault)
            return 1
    print(f"killed {killed} in {runs} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
