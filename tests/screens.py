"""Programs on a real terminal, and what their user sees there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import signal
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pyte

PATIENCE = 180
"""Seconds after which a program that hangs is ended, so that its test fails."""


class Screen:
    """A program that runs on a terminal of its own."""

    def __init__(self, command: Sequence[str], *, cwd: Path, env: Mapping[str, str], columns: int = 120) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, columns))
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**env, "COLUMNS": str(columns), "LINES": "40"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.written = b""
        self._screen = pyte.Screen(columns, 40)
        self._screen.write_process_input = self.type  # the answers to what a shell asks its terminal
        self._stream = pyte.ByteStream(self._screen)

    @property
    def lines(self) -> list[str]:
        """What is to be seen, down to the last line that is not empty."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip().split("\n")

    @property
    def shows_cursor(self) -> bool:
        return not self._screen.cursor.hidden

    def type(self, text: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self._ours, text.encode())

    def wait_for(self, *texts: str) -> None:
        """Read on until all of these are to be seen."""
        self._read_until(lambda: all(text in "\n".join(self.lines) for text in texts))
        assert all(text in "\n".join(self.lines) for text in texts), (texts, self.lines)

    def end(self) -> int:
        """Read all, and give the exit code."""
        self._read_until(lambda: False)
        return self.process.wait()

    def _read_until(self, is_enough: Callable[[], bool]) -> None:
        while not is_enough():
            try:
                chunk = os.read(self._ours, 4096)
            except OSError:  # Linux says so at the end of a terminal's output
                return
            if not chunk:
                return
            self.written += chunk
            self._stream.feed(chunk)

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self._ours)


@contextlib.contextmanager
def on_screen(command: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Iterator[Screen]:
    """A program on a terminal, which is ended when it hangs, and at the latest here."""
    screen = Screen(command, cwd=cwd, env=env)
    with ended_when_it_hangs(screen.process):
        try:
            yield screen
        finally:
            screen.close()


@contextlib.contextmanager
def ended_when_it_hangs(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> Iterator[None]:
    """A process that is ended when it hangs, so that whoever reads from it comes to an end."""
    timer = threading.Timer(PATIENCE, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
