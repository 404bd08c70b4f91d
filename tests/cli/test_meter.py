"""What a long run shows on a terminal. Gates, which are named pipes, hold it up at known places."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.screens import ended_when_it_hangs, on_screen

STATELINT = [sys.executable, "-m", "statelint", "--no-cache", "--python", "./waits"]

PROBE = """
import jax.numpy as jnp
from statelint import Probe

with open({gate!r}) as gate:
    gate.readline()

train = Probe(step=lambda state: state + 1, state=jnp.zeros(3))
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A probe that waits for its interpreter, which waits at one gate, and then itself at another."""
    (tmp_path / "waits").write_text(f'#!/bin/sh\ntouch arrived\nread _ < first\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "waits").chmod(0o755)
    (tmp_path / "train.py").write_text(PROBE.format(gate=str(tmp_path / "second")))
    return tmp_path


@contextlib.contextmanager
def gate(path: Path) -> Iterator[int]:
    """A gate that opens, once, when a line is written to it."""
    os.mkfifo(path)
    descriptor = os.open(path, os.O_RDWR)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def environment(**extra: str) -> dict[str, str]:
    left = ("NO_COLOR", "FORCE_COLOR", "CI", "VIRTUAL_ENV", "GITHUB_ACTIONS")
    return {**{name: value for name, value in os.environ.items() if name not in left}, "TERM": "xterm", **extra}


def test_progress_shows_after_a_while_and_leaves_nothing(project: Path) -> None:
    with (
        gate(project / "first") as first,
        gate(project / "second") as second,
        on_screen(STATELINT, cwd=project, env=environment()) as screen,
    ):
        screen.wait_for("1 of 1 file read")
        os.write(first, b"\n")
        screen.wait_for("tracing probe train")
        assert len(screen.lines) == 1
        os.write(second, b"\n")
        assert screen.end() == 0
        assert screen.lines == ["All clean: 1 file, 1 probe checked"]
        assert screen.shows_cursor


def test_progress_is_cleared_when_the_run_is_interrupted(project: Path) -> None:
    with gate(project / "first"), on_screen(STATELINT, cwd=project, env=environment()) as screen:
        screen.wait_for("1 of 1 file read")
        screen.type("\x03")
        assert screen.end() == 130
        assert "".join(screen.lines) in ("", "^C")
        assert screen.shows_cursor


@pytest.mark.parametrize(
    ("options", "env"), [(["-q"], {}), ([], {"CI": "true"}), ([], {"TERM": "dumb"})], ids=["-q", "CI", "TERM=dumb"]
)
def test_progress_that_nobody_wants_is_not_shown(project: Path, options: list[str], env: dict[str, str]) -> None:
    with (
        gate(project / "first") as first,
        gate(project / "second") as second,
        on_screen([*STATELINT, *options], cwd=project, env=environment(**env)) as screen,
    ):
        wait_long_enough(project)
        for each in (first, second):
            os.write(each, b"\n")
        assert screen.end() == 0
        assert b"read" not in screen.written
        assert b"tracing" not in screen.written
        assert b"\x1b[?25l" not in screen.written


def test_nothing_but_the_report_is_in_a_pipe(project: Path) -> None:
    with gate(project / "first") as first, gate(project / "second") as second:
        process = subprocess.Popen(
            STATELINT, cwd=project, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with ended_when_it_hangs(process):
            wait_long_enough(project)
            for each in (first, second):
                os.write(each, b"\n")
            assert process.communicate() == ("All clean: 1 file, 1 probe checked\n", "")


def wait_long_enough(project: Path) -> None:
    """Wait until the run is held up, and then longer than it is silent in any case."""
    while not (project / "arrived").exists():
        time.sleep(0.05)
    time.sleep(1.5)
