"""Runs probes of files in a real worker, for tests."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from statelint.diagnostics import Location
from statelint.model.trace import ProbeSite
from statelint.probe import client

HEALTHY = """\
from statelint import Probe
import jax.numpy as jnp

probe = Probe(step=lambda s: s + 1, state=lambda: jnp.zeros(3))
"""


def write(file: Path, code: str) -> Path:
    """The file, with this code in it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(code)
    return file


def line_of(file: Path, text: str) -> int:
    """The first line with this text."""
    return next(number for number, line in enumerate(file.read_text().split("\n"), 1) if text in line)


def job(file: Path, name: str = "probe") -> client.Job:
    """The probe that the file calls `probe`."""
    return client.Job(ProbeSite(name, Location(str(file), line_of(file, "probe = "))), file=str(file))


def run(folder: Path, *files: Path, **options: Any) -> list[client.Result]:
    """The results of the probes of these files."""
    jobs = [job(file, file.stem) for file in files]
    return list(client.run(jobs, **{"python": sys.executable, "timeout": 300, "root": str(folder), **options}))


def is_alive(process: psutil.Process) -> bool:
    """Whether it runs; one that has ended may stay listed until its new parent looks."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def with_argument(text: str) -> list[psutil.Process]:
    """The processes that were started with this argument, and run."""
    listed = psutil.process_iter(["cmdline"])
    return [process for process in listed if text in (process.info["cmdline"] or ()) and is_alive(process)]


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for what will come to hold."""
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never came to hold")
