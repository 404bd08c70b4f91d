"""Work spread over processes that are forked off this one, so that nothing need be sent to them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

_WIDTH = 4
"""Bytes of the number of a piece of work."""


class Piece(NamedTuple):
    """What a process gives: the result of a piece of work, or, where that has no number, what it says in the end."""

    worker: int
    number: int | None
    result: Any


def spread(work: Callable[[int], Any], finish: Callable[[], Any], pieces: int, workers: int) -> Iterator[Piece]:
    """The results of pieces of work, as they come.

    What a process that dies has not done is missing: it is for the caller to do. Where processes cannot be forked,
    that is all of it.

    Args:
        work: does the piece of a number.
        finish: gives what a process has to say in the end. One that does not come to it has died.
        pieces: how many there are, a thousand at most: their numbers must fit into the smallest pipe.
        workers: how many processes do them.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return
    context = multiprocessing.get_context("fork")
    taking = _numbers(pieces)
    pipes = [context.Pipe(duplex=False) for _ in range(workers)]
    processes = [
        context.Process(target=_work, args=(taking, pipes, at, work, finish), daemon=True) for at in range(workers)
    ]
    receivers: list[Connection] = [receiver for receiver, _ in pipes]
    workers_of = {id(receiver): at for at, receiver in enumerate(receivers)}
    with _ending_together(processes):
        for process in processes:
            process.start()
        os.close(taking)
        for _, sender in pipes:
            sender.close()
        while receivers:
            for ready in wait(receivers):
                assert isinstance(ready, Connection)
                try:
                    yield Piece(workers_of[id(ready)], *ready.recv())
                except (EOFError, OSError):
                    receivers.remove(ready)
        for process in processes:
            process.join()


_ENDING = (signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else (signal.SIGTERM,)
"""Signals that end a process that does not heed them."""


@contextlib.contextmanager
def _ending_together(processes: Sequence[BaseProcess]) -> Iterator[None]:
    """A signal that ends this process ends those, too: they would notice only when they have something to send."""

    def end(number: int, frame: object) -> None:
        for process in processes:
            if process.pid is not None:
                process.terminate()
        signal.signal(number, before[signal.Signals(number)] or signal.SIG_DFL)
        signal.raise_signal(number)

    if threading.current_thread() is not threading.main_thread():  # the only one that can be told of signals
        yield
        return
    heeded = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


def _numbers(pieces: int) -> int:
    """A pipe with the numbers of all pieces, from which each process takes the next one until there is none."""
    taking, giving = os.pipe()
    os.write(giving, b"".join(number.to_bytes(_WIDTH, "big") for number in range(pieces)))
    os.close(giving)
    return taking


def _work(
    taking: int,
    pipes: Sequence[tuple[Connection, Connection]],
    at: int,
    work: Callable[[int], Any],
    finish: Callable[[], Any],
) -> None:
    for ending in _ENDING:
        if callable(signal.getsignal(ending)):  # that of the process it was forked off
            signal.signal(ending, signal.SIG_DFL)
    sender = pipes[at][1]
    for end in (each for pipe in pipes for each in pipe if each is not sender):
        end.close()  # held here, it would hide from others that whom it belongs to is dead
    with contextlib.suppress(BaseException):  # whoever waits does what is missing, and meets the same error
        while taken := os.read(taking, _WIDTH):
            number = int.from_bytes(taken, "big")
            sender.send((number, work(number)))
        sender.send((None, finish()))
