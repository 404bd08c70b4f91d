"""What the names of a function stand for at one point, and which values have been donated by then.

Every value has a name of its own: where it was bound, and the path below that. So two names of one value are
one, a part belongs to its whole, and what is bound again is another value.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

import msgspec

from statelint.source.paths import Path
from statelint.source.sites import JitCall

Value = tuple[object, Path]
"""Where a value was bound, and the path below that."""

HOST = "host"
"""Where Python and NumPy values come from: they are never donated."""


class Donation(msgspec.Struct, frozen=True, eq=False):
    """A call that was given the buffers of an argument."""

    call: JitCall
    argument: ast.expr


class State:
    """What the names stand for at one point, and what is gone."""

    def __init__(self, names: dict[Path, Value], gone: dict[Value, Donation]) -> None:
        self.names = names
        self.gone = gone

    def copy(self) -> State:
        """Another, at the same point."""
        return State(dict(self.names), dict(self.gone))

    def value(self, path: Path) -> Value:
        """What stands at a path."""
        for length in range(len(path), 0, -1):
            known = self.names.get(path[:length])
            if known is not None:
                return known[0], (*known[1], *path[length:])
        return path[0], path[1:]

    def bind(self, path: Path, value: Value) -> None:
        """Let a path stand for a value."""
        for other in [other for other in self.names if other[: len(path)] == path]:
            del self.names[other]
        self.names[path] = value

    def bind_new(self, path: Path, base: object) -> None:
        """A new value; another turn of a loop makes it anew."""
        for value in [value for value in self.gone if value[0] == base]:
            del self.gone[value]
        self.bind(path, (base, ()))

    def donate(self, path: Path, donation: Donation) -> None:
        """Give away what stands at a path."""
        value = self.value(path)
        if value[0] != HOST:
            self.gone.setdefault(value, donation)

    def lost(self, path: Path) -> Donation | None:
        """The call that was given a value, or what it is part of."""
        base, below = self.value(path)
        found = (self.gone.get((base, below[:length])) for length in range(len(below) + 1))
        return next((donation for donation in found if donation is not None), None)

    def lost_below(self, path: Path) -> dict[Path, Donation]:
        """What is gone of a value, by the path from there; the empty path for the whole."""
        whole = self.lost(path)
        if whole is not None:
            return {(): whole}
        base, below = self.value(path)
        return {
            gone[1][len(below) :]: donation
            for gone, donation in self.gone.items()
            if gone[0] == base and gone[1][: len(below)] == below
        }


def merge(states: Iterable[State | None]) -> State | None:
    """Where ways meet, a name that stands for different values gets one of its own, gone if any of them is."""
    alive = [state for state in states if state is not None]
    if len(alive) < 2:
        return alive[0] if alive else None
    merged = State({}, {})
    for state in alive:
        merged.gone = {**state.gone, **merged.gone}
    joined: dict[tuple[Value, ...], Value] = {}
    for path in sorted({path for state in alive for path in state.names}):
        values = tuple(state.value(path) for state in alive)
        if len(set(values)) == 1:
            merged.names[path] = values[0]
            continue
        value = merged.names[path] = joined.setdefault(values, (object(), ()))
        for state in alive:
            for below, donation in state.lost_below(path).items():
                merged.gone.setdefault((value[0], below), donation)
    return merged
