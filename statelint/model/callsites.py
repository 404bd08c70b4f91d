"""What the source says of jits, and of the calls that go to them."""

from __future__ import annotations

from typing import Literal

import msgspec

from statelint.diagnostics import Edit, Location
from statelint.model.source import Framework, Kind

Wraps = Literal["function", "lambda", "partial", "transformed function", "bound method", "local function"]
"""What a jit is given, by how long the object lives: only a plain function outlives the call that jits it."""

Again = Literal["loop", "step", "call"]
"""When a function is jitted anew: at each turn of a loop, at each call of a step, at each call of a function."""


class JitSite(msgspec.Struct, frozen=True):
    """A place where a function is compiled: a jit as call or decorator, or a loop of `jax.lax` run eagerly.

    Attributes:
        jit: as written (`jax.jit`).
        wrapped: what is jitted, in short.
        wraps: what kind of thing that is.
        again: when it is jitted anew, so that nothing is found in jit's cache; None: it is jitted once, or kept.
        inside: the function in which that happens.
        donates: it names donated arguments, or may.
        state: the parameter through which it takes a state that it returns; None when it does not.
        defined: where that function is defined.
        outside: edits that make it once, at the top of the module; none where that cannot know all that it needs.
        eager: not a jit, but a loop or branch of `jax.lax` that runs outside any.
    """

    jit: str
    at: Location
    wrapped: str
    wraps: Wraps
    framework: Framework = "jax"
    again: Again | None = None
    inside: str = ""
    donates: bool = False
    state: str | None = None
    defined: Location | None = None
    eager: bool = False
    outside: tuple[Edit, ...] = ()


class StaticArgument(msgspec.Struct, frozen=True):
    """What a call of a jitted function passes for a static argument.

    Attributes:
        function: what is called, as written.
        parameter: the static parameter's name; empty when it is not known.
        text: the value as written.
        kind: of the value.
        dataclass: the class of the value, where that is a dataclass that compares by value and can be changed.
        varies: what changes it from call to call, as a message says it; None when nothing surely does.
    """

    function: str
    parameter: str
    at: Location
    text: str
    kind: Kind = Kind.UNKNOWN
    dataclass: str | None = None
    varies: str | None = None


class DonatedRead(msgspec.Struct, frozen=True):
    """A value that is read after a call was given its buffers.

    Attributes:
        path: what is read, as written.
        donated: what the call was given.
        function: what was called.
        call: where.
        next_turn: it is the next turn of a loop that reads it.
    """

    path: str
    at: Location
    donated: str
    function: str
    call: Location
    next_turn: bool = False


class StaleAttribute(msgspec.Struct, frozen=True):
    """An attribute that a jitted method reads from a `self` that jit holds fixed, and another method changes.

    Attributes:
        at: where the method is jitted.
        bound: it is jitted as a bound method; else `self` is a static argument.
        changed: where the attribute is changed.
        changer: the function that changes it.
    """

    method: str
    at: Location
    attribute: str
    read: Location
    changed: Location
    changer: str
    bound: bool = False
