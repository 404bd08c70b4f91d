"""Starts the worker, and survives it.

One worker does all the jobs of a run, so that jax is imported once. When it dies, hangs or floods, the job at
hand has failed and a new worker does the rest.
"""

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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from statelint.diagnostics import Location
from statelint.model.trace import ProbeFailure, ProbeSite, StepTrace

WORKER = Path(__file__).with_name("worker.py")
FLOOD = 64 * 2**20
"""Bytes that user code may print."""
TAIL = 64 * 2**10
"""Bytes of it that are kept, to find the place of a crash in."""
GRACE = 2.0
"""Seconds that a worker is given to say where it hangs, and to go."""

_CRASH_FRAME = re.compile(r'^ +File "(?P<path>[^"]+)", line (?P<line>\d+) in ', re.MULTILINE)


class Job(msgspec.Struct, frozen=True):
    """A declared probe: in code, by the file that makes it, in TOML, by its table, or by its name in a module.

    Attributes:
        table: the fields of `statelint.Probe`, with `module:name` for objects; None for a probe in code.
        reference: the object that is the probe, as `module:name`; where it is declared, the worker says.
    """

    site: ProbeSite
    file: str | None = None
    table: dict[str, Any] | None = None
    reference: str | None = None


Result = StepTrace | ProbeFailure


def run(
    jobs: Sequence[Job],
    *,
    python: str,
    timeout: float,
    root: str,
    restore: str | None = None,
    measure: bool = False,
) -> Iterator[Result]:
    """Trace probes in a worker under ``python``.

    Args:
        timeout: seconds that one probe may take, the import of its modules included.
        root: the project's folder: where the worker runs, and whose modules tables name.
        restore: take each state through a real checkpoint of this library.
        measure: run the steps for real, too.

    Returns:
        at least one result for each job, in the order of the jobs but for those that ask for environment
        variables.
    """
    # A line of a file is one job, however many probes it makes.
    jobs = list({(job.file, job.site.at.line) if job.file else id(job): job for job in reversed(jobs)}.values())[::-1]
    waiting: list[tuple[dict[str, str], list[Job]]] = []
    tables = [job for job in jobs if job.table and job.table.get("env")]
    waiting += [(dict(job.table["env"]), [job]) for job in tables if job.table]
    waiting.insert(0, ({}, [job for job in jobs if job not in tables]))
    while waiting:
        env, batch = waiting.pop(0)
        while batch:
            worker = _Worker(batch, python=python, timeout=timeout, root=root, env=env)
            worker.asked = {"restore": restore, "measure": measure}
            for job, outcome in worker.outcomes():
                if isinstance(outcome, _Asks):
                    waiting.append((env | outcome.env, [job]))
                else:
                    yield outcome
            batch = batch[worker.finished :]


class _Asks(msgspec.Struct, frozen=True):
    """A probe that wants environment variables set before jax is imported."""

    env: dict[str, str]


class _Worker:
    """One child process, until it has done its jobs or is lost.

    Attributes:
        asked: what each trace is to do besides.
        finished: how many jobs, from the first on, have their results.
        has_started: it has said something, so that it is our worker, under a Python that can run it.
    """

    def __init__(self, jobs: Sequence[Job], *, python: str, timeout: float, root: str, env: Mapping[str, str]) -> None:
        self.jobs = jobs
        self.python = python
        self.timeout = timeout
        self.root = root
        self.env = env
        self.asked: dict[str, Any] = {"restore": None, "measure": False}
        self.finished = 0
        self.has_started = False
        self.tail = b""
        self.events: queue.Queue[dict[str, Any]] = queue.Queue()

    def outcomes(self) -> Iterator[tuple[Job, Result | _Asks]]:
        """The results of the jobs, until the worker has done them or is lost with one of them."""
        try:
            process = self._start()
        except OSError as error:
            for job in self.jobs:
                yield job, _failure(job, f"{self.python} cannot be started: {error.strerror}")
            self.finished = len(self.jobs)
            return
        try:
            yield from self._follow(process)
        finally:
            _kill(process)

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [self.python, "-u", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.root,
            env=_environment(self.env),
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        orders = [[number, _order(job) | self.asked] for number, job in enumerate(self.jobs)]
        # The pipe stays open: when we are gone, however we went, the worker reads its end and goes too.
        with contextlib.suppress(BrokenPipeError):
            sources = [self.root, os.path.join(self.root, "src")]
            process.stdin.write(json.dumps({"sys_path": sources, "jobs": orders}).encode() + b"\n")
            process.stdin.flush()
        threading.Thread(target=self._read_report, args=(process.stdout,), daemon=True).start()
        self.drain = threading.Thread(target=self._read_noise, args=(process.stderr,), daemon=True)
        self.drain.start()
        return process

    def _read_report(self, pipe: IO[bytes]) -> None:
        for line in pipe:
            try:
                message = json.loads(line)
                self.events.put({"job": int(message["job"]), "event": str(message["event"]), **message})
            except (ValueError, TypeError, KeyError):
                self.events.put({"event": "garbled"})
        self.events.put({"event": "end"})

    def _read_noise(self, pipe: IO[bytes]) -> None:
        total = 0
        while chunk := pipe.read1(TAIL):  # type: ignore[attr-defined]
            total += len(chunk)
            self.tail = (self.tail + chunk)[-TAIL:]
            if total > FLOOD:
                self.events.put({"event": "flood"})
                # Reading on keeps the worker from blocking until it is killed.
                total = -(2**62)

    def _follow(self, process: subprocess.Popen[bytes]) -> Iterator[tuple[Job, Result | _Asks]]:
        deadline, has_result = time.monotonic() + self.timeout, False
        while self.finished < len(self.jobs):
            job = self.jobs[self.finished]
            try:
                message = self.events.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                yield (
                    job,
                    _failure(job, f"it did not end within {self.timeout:g} seconds", self._where_it_hangs(process)),
                )
                self.finished += 1
                return
            event = message["event"]
            if event == "start":
                self.has_started, has_result = True, False
                deadline = time.monotonic() + self.timeout
            elif event == "done":
                if not has_result:
                    yield job, _failure(job, "it gave no result")
                self.finished += 1
                deadline = time.monotonic() + self.timeout
            elif event == "spoiled":
                return
            elif event in ("end", "flood", "garbled"):
                yield job, self._loss(job, event, process)
                self.finished += 1
                return
            else:
                has_result = True
                yield job, _decoded(job, message)

    def _loss(self, job: Job, event: str, process: subprocess.Popen[bytes]) -> ProbeFailure:
        """What became of a worker that will say no more."""
        if not self.has_started:
            process.kill()
            self.drain.join(GRACE)
            return _failure(job, f"{self.python} cannot run probes: {self._last_words() or 'is it a Python?'}")
        if event == "flood":
            return _failure(job, f"it printed more than {FLOOD // 2**20} MB")
        if event == "garbled":
            return _failure(job, "it wrote into statelint's own channel")
        place = self._last_user_line()
        return _failure(job, _ending(process), place)

    def _last_words(self) -> str:
        """The last line that the worker printed."""
        lines = self.tail.decode(errors="replace").split("\n")
        return next((" ".join(line.split())[:200] for line in reversed(lines) if line.strip()), "")

    def _where_it_hangs(self, process: subprocess.Popen[bytes]) -> Location | None:
        """The user's line at which the worker stands: it prints its stack when it is asked."""
        if not hasattr(signal, "SIGUSR1"):
            return None
        self.tail = b""
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGUSR1)
        until = time.monotonic() + GRACE
        while (place := self._last_user_line()) is None and time.monotonic() < until:
            time.sleep(0.05)
        return place

    def _last_user_line(self) -> Location | None:
        """The user's innermost line in the stack that faulthandler printed last."""
        if self.drain.is_alive():
            self.drain.join(0.2)
        stack = self.tail.decode(errors="replace").rpartition("(most recent call first)")[2]
        frames = [(match["path"], int(match["line"])) for match in _CRASH_FRAME.finditer(stack)]
        inside = [place for place in frames if _is_below(place[0], self.root)]
        return Location(*inside[0]) if inside else None


def _is_below(path: str, root: str) -> bool:
    folder = os.path.join(os.path.realpath(root), "")
    return os.path.realpath(path).startswith(folder) and not re.search(r"[/\\](?:site|dist)-packages[/\\]", path)


def _order(job: Job) -> dict[str, Any]:
    table = None if job.table is None else {key: value for key, value in job.table.items() if key != "env"}
    file = job.file and os.path.abspath(job.file)
    return {"file": file, "line": job.site.at.line, "name": job.site.name, "table": table, "reference": job.reference}


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """The user's environment, but on the CPU unless the probe says otherwise, and leaving no bytecode behind."""
    return {**os.environ, "JAX_PLATFORMS": "cpu", **env, "PYTHONDONTWRITEBYTECODE": "1"}


def _decoded(job: Job, message: dict[str, Any]) -> Result | _Asks:
    at = Location(*message["site"]) if job.reference and message.get("site") else job.site.at
    site = ProbeSite(message.get("name") or job.site.name, at)
    match message["event"]:
        case "trace":
            return msgspec.convert({"probe": msgspec.to_builtins(site), **message["facts"]}, StepTrace)
        case "environment":
            return _Asks(message["env"])
        case _:
            failed = msgspec.convert(message["at"], Location) if message.get("at") else site.at
            return ProbeFailure(site, failed, message["message"])


def _failure(job: Job, message: str, at: Location | None = None) -> ProbeFailure:
    return ProbeFailure(job.site, at or job.site.at, message)


def _ending(process: subprocess.Popen[bytes]) -> str:
    code = process.wait()
    if code < 0:
        return f"its process was killed by {signal.Signals(-code).name}"
    return f"its process ended by itself with exit code {code}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the worker and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
