"""The worker's process as its client has it: what it says, what user code prints, where it stands, and its end."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import msgspec

from statelint.diagnostics import Location
from statelint.probe import frames, processes

WORKER = Path(__file__).with_name("worker.py")
FLOOD = 64 * 2**20
"""Bytes that user code may print."""
TAIL = 64 * 2**10
"""Bytes of it that are kept of each job, to be shown, and to find the place of a crash in."""
LAST = 5
"""Lines of it that a failure shows."""
GRACE = 2.0
"""Seconds that a worker is given to say where it hangs, and to go."""

_STACK = re.compile(r"(?:Stack |Traceback |(?:Current thread|Thread)[^\n(]*)?\(most recent call (first|last)\)")
"""Where a stack begins, be it of Python's own or of faulthandler."""
_FRAME = re.compile(r'^ +File "(?P<path>[^"]+)", line (?P<line>\d+),? in ', re.MULTILINE)


class Message(msgspec.Struct, frozen=True):
    """What is told of the worker: by itself, as its own documentation says, or by those that watch it."""

    event: str
    job: int = 0
    alone: bool = True
    name: str | None = None
    site: tuple[str, int] | None = None
    facts: dict[str, Any] = {}
    at: Location | None = None
    message: str = ""
    traceback: str = ""
    env: dict[str, str] = {}
    imported: tuple[str, ...] = ()
    jax: str = ""
    python: str = ""


class Child:
    """A process of the worker, and all that it starts.

    Attributes:
        events: what the worker says, and besides ``end``: it will say no more; ``garbled``: it says what nobody
            understands; ``flood`` and ``memory``: it prints, or takes, too much.
    """

    def __init__(
        self, python: str, *, root: str, env: Mapping[str, str], memory: int | None, jobs: list[dict[str, Any]]
    ) -> None:
        """Start it.

        Raises:
            OSError: it cannot be started.
        """
        self.root = root
        self.events: queue.Queue[Message] = queue.Queue()
        self._mark = f"\0{os.urandom(8).hex()}\0"
        self._printed: queue.Queue[bytes] = queue.Queue()
        self._tail = b""
        self._marks = processes.new_environment()
        try:
            self.process = subprocess.Popen(
                [python, "-u", str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=root,
                env=_environment({**self._marks, **env}),
                start_new_session=True,
            )
        except OSError:
            processes.end_all(self._marks, but=os.getpid())
            raise
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        sources = [root, os.path.join(root, "src")]
        order = {"sys_path": sources, "mark": self._mark, "jobs": list(enumerate(jobs))}
        # The pipe stays open: when we are gone, however we went, the worker reads its end and goes too.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(json.dumps(order).encode() + b"\n")
            self.process.stdin.flush()
        threading.Thread(target=self._read_report, args=(self.process.stdout,), daemon=True).start()
        self._drain = threading.Thread(target=self._read_noise, args=(self.process.stderr,), daemon=True)
        self._drain.start()
        if memory is not None:
            threading.Thread(target=self._watch_memory, args=(memory,), daemon=True).start()

    def _read_report(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            try:
                self.events.put(msgspec.convert(json.loads(line), Message))
            except ValueError:
                self.events.put(Message("garbled"))
        self.events.put(Message("end"))

    def _read_noise(self, pipe: IO[bytes]) -> None:
        total, flooded = 0, False
        while chunk := pipe.read1(TAIL):  # type: ignore[attr-defined]
            total += len(chunk)
            *done, tail = (self._tail + chunk).split(self._mark.encode())
            self._tail = tail[-TAIL:]
            for text in done:
                self._printed.put(text[-TAIL:])
            if flooded and (start := tail.find(b"(most recent call first)")) >= 0:
                # What goes on and on must not drown the stack that was asked for.
                self._tail = tail[start : start + TAIL]
                if len(self._tail) == TAIL:
                    return
            elif total > FLOOD and not flooded:
                # Reading on lets the worker print its stack.
                flooded = True
                self.events.put(Message("flood"))

    def _watch_memory(self, memory: int) -> None:
        while self.process.returncode is None:
            if processes.memory(self.process.pid) > memory:
                self.events.put(Message("memory"))
                return
            time.sleep(processes.PAUSE)

    def printed_by_job(self) -> str:
        """The last of what a job printed that is done: of each in its turn."""
        try:
            return _text(self._printed.get(timeout=GRACE))
        except queue.Empty:  # user code has closed what is printed on
            return ""

    def exit_code(self) -> int | None:
        """Of a worker that says no more; None when it still lives."""
        try:
            return self.process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            return None

    def last_printed(self) -> tuple[str, Location | None]:
        """What was printed last, with the stack at the end, and the user's innermost line in that."""
        before = b""
        if self.process.returncode is None:
            before, self._tail = self._tail, b""
            self._ask_where()
        place = self._last_user_line()
        return _text(before + self._tail), place

    def _ask_where(self) -> None:
        """Have the worker print its stack, and wait until the user's line is in it."""
        if not hasattr(signal, "SIGUSR1"):
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + GRACE
        while self._last_user_line() is None and time.monotonic() < until:
            time.sleep(0.05)

    def _last_user_line(self) -> Location | None:
        """The user's innermost line in the stack that was printed last."""
        if self._drain.is_alive():
            self._drain.join(0.2)
        *_, order, stack = ["", *_STACK.split(_text(self._tail))]
        places = [(match["path"], int(match["line"])) for match in _FRAME.finditer(stack)]
        inside = [place for place in places if _is_below(place[0], self.root)]
        return Location(*inside[-1 if order == "last" else 0]) if inside else None

    def last_words(self) -> str:
        """The last line that is printed before it ends."""
        self.process.kill()
        self._drain.join(GRACE)
        return " ".join("".join(last_lines(_text(self._tail))[-1:]).split())[:200]

    def end(self) -> None:
        """End the worker and all that it started, and remove what they left."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.wait()
        processes.end_all(self._marks, but=os.getpid())
        if self.process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()


def last_lines(text: str) -> tuple[str, ...]:
    """The last lines that were printed, but for a stack below them."""
    stacks = [match.start() for match in _STACK.finditer(text)]
    lines = text[: stacks[-1] if stacks else None].split("\n")
    return tuple([line.rstrip() for line in lines if line.strip()][-LAST:])


def _text(printed: bytes) -> str:
    return printed.decode(errors="replace")


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, but on the CPU unless the probe says otherwise, and leaving no bytecode behind."""
    return {**os.environ, "JAX_PLATFORMS": "cpu", **env, "PYTHONDONTWRITEBYTECODE": "1"}


def _is_below(path: str, root: str) -> bool:
    folder = os.path.join(os.path.realpath(root), "")
    return os.path.realpath(path).startswith(folder) and not frames.is_installed(path)
