"""Starts the worker, and survives it.

One worker does all the jobs of a run, so that jax is imported once. When it dies, hangs, floods or eats up the
memory, the job at hand has failed and a new worker does the rest. A job that fails where other code has run before
it is done once more in a worker of its own, so that what one file does to Python or jax is not held against another.
"""

from __future__ import annotations

import os
import queue
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from statelint.diagnostics import Location
from statelint.model.trace import ProbeFailure, ProbeSite, StepTrace
from statelint.probe import processes
from statelint.probe.child import FLOOD, Child, Message, last_lines
from statelint.progress import SILENT, Progress

LOST = ("end", "flood", "garbled", "memory", "late", "done")
"""Events after which a worker is of no more use: our own, and an end of a job that had no result."""


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
    memory: int | None = None,
    restore: str | None = None,
    compile: bool = False,
    measure: bool = False,
    progress: Progress = SILENT,
) -> Iterator[Result]:
    """Trace probes in a worker under ``python``.

    Args:
        timeout: seconds that one probe may take, the import of its modules included.
        root: the project's folder: where the worker runs, and whose modules tables name.
        memory: bytes that the worker and what it starts may hold; half of the machine's when None.
        restore: take each state through a real checkpoint of this library.
        compile: compile the steps.
        measure: run the steps for real, too.
        progress: is told which probe is being traced.

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
            limits = _Limits(timeout, memory or processes.half_of_all())
            worker = _Worker(batch, python=python, limits=limits, root=root, env=env)
            worker.asked = {"restore": restore, "compile": compile, "measure": measure}
            worker.progress = progress
            for job, outcome in worker.outcomes():
                if isinstance(outcome, _Asks):
                    waiting.append((env | outcome.env, [job]))
                else:
                    yield outcome
            batch = batch[worker.finished :]
    progress.tracing(None)


class _Asks(msgspec.Struct, frozen=True):
    """A probe that wants environment variables set before jax is imported."""

    env: dict[str, str]


class _Limits(msgspec.Struct, frozen=True):
    """Seconds that a job may take, and bytes that all that it runs may hold."""

    seconds: float
    memory: int | None


class _Worker:
    """One child process, until it has done its jobs or is lost.

    Attributes:
        asked: what each trace is to do besides.
        progress: is told which job is at hand.
        finished: how many jobs, from the first on, have their results.
        has_started: it has said something, so that it is our worker, under a Python that can run it.
        is_alone: no other file's code has run in it before the job at hand.
        imported: the files that it has imported so far.
    """

    def __init__(self, jobs: Sequence[Job], *, python: str, limits: _Limits, root: str, env: Mapping[str, str]) -> None:
        self.jobs = jobs
        self.python = python
        self.limits = limits
        self.root = root
        self.env = env
        self.asked: dict[str, Any] = {"restore": None, "compile": False, "measure": False}
        self.progress: Progress = SILENT
        self.finished = 0
        self.has_started = False
        self.is_alone = True
        self.imported: set[str] = set()

    def outcomes(self) -> Iterator[tuple[Job, Result | _Asks]]:
        """The results of the jobs, until the worker has done them or is lost with one of them."""
        orders = [_order(job) | self.asked for job in self.jobs]
        try:
            child = Child(self.python, root=self.root, env=self.env, memory=self.limits.memory, jobs=orders)
        except OSError as error:
            for job in self.jobs:
                yield job, _failure(job, f"{self.python} cannot be started: {error.strerror}")
            self.finished = len(self.jobs)
            return
        try:
            yield from self._follow(child)
        finally:
            child.end()

    def _follow(self, child: Child) -> Iterator[tuple[Job, Result | _Asks]]:
        deadline = time.monotonic() + self.limits.seconds
        said: list[Message] = []
        while self.finished < len(self.jobs):
            job = self.jobs[self.finished]
            try:
                message = child.events.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                message = Message("late")
            event = message.event
            if event in ("start", "done"):
                deadline = time.monotonic() + self.limits.seconds
            if event == "start":
                self.has_started, self.is_alone = True, message.alone
                self.progress.tracing(job.site.name)
            elif event == "done" and said:
                yield from self._done(job, said, message, child.printed_by_job())
                self.finished += 1
                said, self.is_alone = [], False
            elif event == "spoiled" or (event in LOST and event != "late" and not self.is_alone):
                return
            elif event in LOST:
                loss = self._loss(job, event, child)
                yield from ((job, _decoded(job, each)) for each in said)
                self.finished += 1
                yield job, loss
                return
            else:
                said.append(message)

    def _done(
        self, job: Job, said: Sequence[Message], message: Message, printed: str
    ) -> Iterator[tuple[Job, Result | _Asks]]:
        """The results of a job that has ended well, the first of them with what was printed."""
        self.imported.update(message.imported)
        ran = {"imported": tuple(sorted(self.imported)), "jax": message.jax, "python": message.python}
        for each in said:
            outcome = _decoded(job, each)
            if isinstance(outcome, StepTrace):
                outcome = msgspec.structs.replace(outcome, printed=printed, **ran)
            elif isinstance(outcome, ProbeFailure):
                outcome = _with_output(outcome, printed, each.traceback)
            yield job, outcome
            printed = ""

    def _loss(self, job: Job, event: str, child: Child) -> ProbeFailure:
        """What became of a worker that will say no more."""
        if not self.has_started:
            return _failure(job, f"{self.python} cannot run probes: {child.last_words() or 'is it a Python?'}")
        message = self._reason(event, child)
        printed, place = child.last_printed()
        return ProbeFailure(job.site, place or job.site.at, message, printed=printed, last=last_lines(printed))

    def _reason(self, event: str, child: Child) -> str:
        match event:
            case "late":
                return f"it did not end within {self.limits.seconds:g} seconds (probe-timeout)"
            case "memory":
                return f"it took more than {(self.limits.memory or 0) / 1e9:.3g} GB of memory (probe-memory)"
            case "flood":
                return f"it printed more than {FLOOD // 2**20} MB"
            case "end":
                code = child.exit_code()
                return "it closed statelint's own channel" if code is None else _ending(code)
        return "it wrote into statelint's own channel"


def _order(job: Job) -> dict[str, Any]:
    table = None if job.table is None else {key: value for key, value in job.table.items() if key != "env"}
    file = job.file and os.path.abspath(job.file)
    return {"file": file, "line": job.site.at.line, "name": job.site.name, "table": table, "reference": job.reference}


def _decoded(job: Job, message: Message) -> Result | _Asks:
    at = Location(*message.site) if job.reference and message.site else job.site.at
    site = ProbeSite(message.name or job.site.name, at)
    match message.event:
        case "trace":
            return msgspec.convert({"probe": msgspec.to_builtins(site), **message.facts}, StepTrace)
        case "environment":
            return _Asks(message.env)
        case _:
            return ProbeFailure(site, message.at or site.at, message.message)


def _failure(job: Job, message: str) -> ProbeFailure:
    return ProbeFailure(job.site, job.site.at, message)


def _with_output(failure: ProbeFailure, printed: str, traceback: str) -> ProbeFailure:
    return msgspec.structs.replace(failure, printed=printed + traceback, last=last_lines(printed))


def _ending(code: int) -> str:
    if code >= 0:
        return f"its process ended by itself with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        name = f"signal {-code}"
    return f"its process was killed by {name}"
