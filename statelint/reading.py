"""What the source rules say of files: known from an earlier run, or read, by several processes where that pays."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from statelint import rules, suppressions
from statelint.cache import Cache
from statelint.diagnostics import Diagnostic
from statelint.model.names import Names
from statelint.model.source import SyntaxFault
from statelint.model.trace import ProbeSite
from statelint.suppressions import Ignore

if TYPE_CHECKING:
    from statelint.source.project import Reading

File = tuple[str, bytes]
"""A file: its path as it is shown, and its content."""

SHARE = 400_000
"""Bytes of source for which another process is worth its start."""

BLOCK = 100_000
"""Bytes of source that a process takes at a time, at least."""

MOST = 1_000_000
"""And at most: it may have the trees of all of them at once."""

TURNS = 4
"""How often each process would still take a block of the size that it takes now, if all blocks were like it."""


def processors() -> int:
    """How many processes can run at once."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class FileReport(msgspec.Struct, frozen=True):
    """What is to be said of one file.

    Attributes:
        findings: of all source rules, whether they are selected or not.
        probes: declared in it.
        comments: those that silence findings; None where there is nothing for them to do, so that none was looked for.
        parsed: it is Python.
        screened: it does not mention JAX, and was not parsed since there are so many of its kind.
    """

    path: str
    findings: tuple[Diagnostic, ...] = ()
    probes: tuple[ProbeSite, ...] = ()
    comments: tuple[Ignore, ...] | None = None
    parsed: bool = True
    screened: bool = False


class Looked(msgspec.Struct):
    """What was looked at for these reports, as `Cache.learn` takes it."""

    places: dict[str, set[str]] = {}
    read: dict[str, bytes | None] = {}

    def add(self, other: Looked) -> None:
        """What was looked at for other reports."""
        for path, places in other.places.items():
            self.places.setdefault(path, set()).update(places)
        self.read |= other.read


def read(
    files: Sequence[File],
    names: Names,
    *,
    known: Cache[FileReport],
    screen: bool = False,
    jobs: int = 1,
    told: Callable[[int], None] = lambda number: None,
) -> list[FileReport]:
    """Read files together: a class that one defines is known where another builds it.

    Args:
        names: what is called a state and what a counter.
        known: what earlier runs found out.
        screen: do not parse files that say nothing of JAX.
        jobs: how many processes may read.
        told: is called with how many more files were read.
    """
    reports = known.known(files)
    told(len(reports))
    unread = [number for number, (path, _) in enumerate(files) if path not in reports]
    if unread:
        looked = Looked()
        fresh: dict[str, FileReport] = {}
        with _without_collector():
            for block in _read(files, unread, _Reader(files, names, screen=screen), jobs, looked):
                fresh.update((report.path, report) for report in block)
                told(len(block))
        known.learn(fresh, looked.places, looked.read)
        reports |= fresh
    return [reports[path] for path, _ in files]


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Trees have no cycles, and looking for some takes a quarter of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.freeze()  # what there is now is there to stay, and need not be looked through again and again
            gc.enable()


def _read(
    files: Sequence[File], unread: Sequence[int], reader: _Reader, jobs: int, looked: Looked
) -> Iterator[list[FileReport]]:
    workers = max(1, min(jobs, sum(len(files[number][1]) for number in unread) // SHARE))
    blocks = list(_blocks(files, unread, workers))
    if workers > 1:
        from statelint import spreading  # much to import, for where it pays

        done: dict[int, list[int]] = defaultdict(list)
        finished: set[int] = set()
        for piece in spreading.spread(lambda at: reader.read(blocks[at]), lambda: reader.looked, len(blocks), workers):
            if piece.number is None:
                finished.add(piece.worker)
                looked.add(piece.result)
            else:
                done[piece.worker].append(piece.number)
                yield piece.result
        # Of what a process has read that died, nobody knows what it was read from.
        known = {number for worker in finished for number in done[worker]}
        blocks = [block for at, block in enumerate(blocks) if at not in known]
    for block in blocks:
        yield reader.read(block)
    looked.add(reader.looked)


class _Reader:
    """Reads some of these files at a time, and remembers of all what it has seen."""

    def __init__(self, files: Sequence[File], names: Names, *, screen: bool) -> None:
        from statelint.source.project import Project

        self._files = files
        self._project = Project(names, files, screen=screen)

    def read(self, block: Sequence[int]) -> list[FileReport]:
        return [_report(reading) for reading in self._project.read([self._files[number] for number in block])]

    @property
    def looked(self) -> Looked:
        index = self._project.index
        return Looked(index.looked_at, {**dict.fromkeys(index.absent), **self._project.read_besides})


def _report(reading: Reading) -> FileReport:
    is_parsed = not any(isinstance(part, SyntaxFault) for part in reading.parts)
    findings, text = tuple(rules.in_source(reading.parts)), reading.text or ""
    told = bool(findings) or suppressions.speaks(text)
    return FileReport(
        path=reading.path,
        findings=findings,
        probes=reading.probes,
        comments=suppressions.read(reading.path, text, rules.names()) if told else None,
        parsed=is_parsed,
        screened=reading.screened,
    )


def _blocks(files: Sequence[File], unread: Sequence[int], workers: int) -> Iterator[list[int]]:
    """The files to be read, some neighbours at a time: they import each other most.

    What one process reads, another need not read for its sake: the blocks are large at first, and small in the end,
    when the processes should come to it at the same time.
    """
    left = sum(len(files[number][1]) for number in unread)
    block: list[int] = []
    size, enough = 0, _enough(left, workers)
    for number in unread:
        block.append(number)
        size += len(files[number][1])
        if size >= enough:
            yield block
            left -= size
            block, size, enough = [], 0, _enough(left, workers)
    if block:
        yield block


def _enough(left: int, workers: int) -> int:
    """The bytes of the next block, when so many are left."""
    return min(MOST, max(BLOCK, left // (TURNS * workers)))
