"""Where the time of a run goes."""

from __future__ import annotations

import collections
import dataclasses
import pstats
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import statelint
from benchmarks.timing import Run, seconds

MOST = 12
"""Rows of a profile."""

OURS = Path(statelint.__file__).parent

BUILTIN = "~"
"""The file that a profile gives for what is written in C."""


def profile(run: Run, folder: Path) -> Iterator[tuple[str, float]]:
    """The rooms that a run of statelint spends its time in, in one process, and the share of each."""
    run.measured(seconds)  # other runs may have left the caches in another state
    file = folder / "profile"
    python, isolated, *rest = run.command
    command = (python, isolated, "-m", "cProfile", "-o", str(file), *rest, "--jobs", "1")
    dataclasses.replace(run, command=command).measured(seconds)
    rooms = _rooms(pstats.Stats(str(file)).stats)  # type: ignore[attr-defined]
    total = sum(rooms.values())
    for room in sorted(rooms, key=rooms.__getitem__, reverse=True)[:MOST]:
        yield room, rooms[room] / total


def _rooms(stats: dict[Any, Any]) -> dict[str, float]:
    rooms: dict[str, float] = collections.defaultdict(float)
    for (file, _, name), (_, _, own, _, callers) in stats.items():
        if file == BUILTIN:
            for (caller, _, called_by), (_, _, spent, _) in callers.items():
                is_parse = (called_by, name) == ("parse", "<built-in method builtins.compile>")
                rooms["ast.parse" if is_parse else _room(caller)] += spent
        else:
            rooms[_room(file)] += own
    return rooms


def _room(file: str) -> str:
    """A module of statelint, or a library."""
    path = Path(file)
    if path.is_relative_to(OURS):
        return ".".join(path.with_suffix("").relative_to(OURS.parent).parts)
    for library in ("purelib", "platlib", "stdlib"):
        if path.is_relative_to(sysconfig.get_path(library)):
            return path.relative_to(sysconfig.get_path(library)).parts[0].removesuffix(".py")
    return "Python itself"
