"""Work spread over processes that are forked off this one, so that nothing need be sent to them."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

_WIDTH = 4
"""Bytes of the number of a piece of work."""


def spread(
    work: Callable[[int], Any], finish: Callable[[], Any], pieces: int, workers: int
) -> Iterator[tuple[int | None, Any]]:
    """The results of pieces of work, each with its number, as they come.

    What a process that dies has not done is missing: it is for the caller to do. Where processes cannot be forked,
    that is all of it.

    Args:
        work: does the piece of a number.
        finish: gives what a process has to say in the end, which comes with None.
        pieces: how many there are, some thousands at most: their numbers must fit into a pipe.
        workers: how many processes do them.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        return
    context = multiprocessing.get_context("fork")
    taking = _numbers(pieces)
    pipes = [context.Pipe(duplex=False) for _ in range(workers)]
    processes = [context.Process(target=_work, args=(taking, sender, work, finish), daemon=True) for _, sender in pipes]
    for process in processes:
        process.start()
    os.close(taking)
    for _, sender in pipes:
        sender.close()
    receivers: list[Connection] = [receiver for receiver, _ in pipes]
    while receivers:
        for ready in wait(receivers):
            assert isinstance(ready, Connection)
            try:
                yield ready.recv()
            except (EOFError, OSError):
                receivers.remove(ready)
    for process in processes:
        process.join()


def _numbers(pieces: int) -> int:
    """A pipe with the numbers of all pieces, from which each process takes the next one until there is none."""
    taking, giving = os.pipe()
    os.write(giving, b"".join(number.to_bytes(_WIDTH, "big") for number in range(pieces)))
    os.close(giving)
    return taking


def _work(taking: int, sender: Connection, work: Callable[[int], Any], finish: Callable[[], Any]) -> None:
    with contextlib.suppress(BaseException):  # whoever waits does what is missing, and meets the same error
        while taken := os.read(taking, _WIDTH):
            number = int.from_bytes(taken, "big")
            sender.send((number, work(number)))
        sender.send((None, finish()))
