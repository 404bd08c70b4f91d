"""What the probe saw of one step: facts, never verdicts.

The worker prints these as JSON; the decoder checks every field, so that what rules look at is what they are told.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from statelint.diagnostics import Location

Held = Literal["array", "python", "numpy", "key", "static", "invalid"]
"""How a leaf of the initial state is held. ``static``: a Python value that the adapter's jit holds static;
``invalid``: jit refuses it."""

StaticKind = Literal["number", "array", "mutable", "callable", "text", "other"]


class Aval(msgspec.Struct, frozen=True):
    """Shape, dtype and weak type of a leaf, as jit sees it."""

    dtype: str
    shape: tuple[int, ...]
    weak: bool = False

    def __str__(self) -> str:
        """JAX's own notation: `float32[16,8]`."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def described(self) -> str:
        """The notation with its weak type in words: `weak float32[]`."""
        return f"weak {self}" if self.weak else str(self)


class Change(msgspec.Struct, frozen=True):
    """A leaf that came out of a call other than it went in. Calls count from 1."""

    call: int
    before: Aval
    after: Aval


class LeafTrace(msgspec.Struct, frozen=True):
    """One leaf of the state, in the treedef's own order.

    Attributes:
        path: below the state, as the user would write it: `opt_state[0].mu['w']`; empty when the state is one leaf.
        name: the last name on the path.
        python_type: of the initial leaf (`int`, `ArrayImpl`, `ndarray`; a traced factory's arrays are `Array`).
        aval: what goes into call 1; None for a static or invalid leaf.
        out: what call 1 gives back; None where the path is gone.
        nbytes: of the initial leaf in memory; 0 when it is static or invalid.
        shares: the leaves that hold one buffer carry one number; None: a buffer of its own.
        changes: every call until the fixed point at which the leaf's aval changed.
        value: short repr of a static or invalid leaf, and of what it is after the step when that differs.
        made: the user's line that made the initial leaf.
        produced: the user's line that produced it in the step.
    """

    path: str
    name: str
    held: Held
    python_type: str
    aval: Aval | None = None
    out: Aval | None = None
    nbytes: int = 0
    donated: bool = False
    shares: int | None = None
    changes: tuple[Change, ...] = ()
    value: str | None = None
    value_after: str | None = None
    made: Location | None = None
    produced: Location | None = None
    counter: bool = False

    @property
    def label(self) -> str:
        """The path with the state's name before it."""
        return label(self.path)

    @property
    def drifts(self) -> bool:
        """It does not keep its aval."""
        return bool(self.changes)


class StaticTrace(msgspec.Struct, frozen=True):
    """A static field of a node of the state.

    Attributes:
        value: short repr.
        changed: the step gives back another value (by `==`, as the treedef compares).
        after: short repr of that other value.
        comparable: False when `==` between two of these raises or gives no truth value.
    """

    path: str
    name: str
    kind: StaticKind
    type: str
    value: str
    changed: bool = False
    after: str | None = None
    comparable: bool = True
    made: Location | None = None
    produced: Location | None = None
    counter: bool = False

    @property
    def label(self) -> str:
        """The path with the state's name before it."""
        return label(self.path)


class StructureChange(msgspec.Struct, frozen=True):
    """A difference between the treedef that goes into a call and the one that comes out.

    Attributes:
        before, after: what stands at the path, in words (`dict`, `FrozenDict`, `None`, `a leaf float32[3]`); None
            where there is nothing.
    """

    call: int
    path: str
    before: str | None
    after: str | None
    produced: Location | None = None

    @property
    def label(self) -> str:
        """The path with the state's name before it."""
        return label(self.path)


class StepFault(msgspec.Struct, frozen=True):
    """A later call that the step refuses: its own output is not what it takes."""

    call: int
    error: str


class Executables(msgspec.Struct, frozen=True):
    """How many executables a plain loop compiles until its key repeats (None: a new one every call), and how many
    more the first restored state adds.
    """

    loop: int | None
    restore: int


class ProbeSite(msgspec.Struct, frozen=True):
    """A declared probe: its name and where it is declared."""

    name: str
    at: Location


class StepTrace(msgspec.Struct, frozen=True):
    """What one probe saw.

    Attributes:
        adapter: whose rules the state was split by: `jax.jit` (every leaf is traced) or `equinox.filter_jit`
            (arrays are traced, all else is static).
        donates: the step donates some of the state.
        restored: paths of the leaves that are to blame for the executables after a restore.
        refused: a later call fails.
    """

    probe: ProbeSite
    adapter: Literal["jax.jit", "equinox.filter_jit"]
    leaves: tuple[LeafTrace, ...]
    executables: Executables
    statics: tuple[StaticTrace, ...] = ()
    structure: tuple[StructureChange, ...] = ()
    donates: bool = False
    restored: tuple[str, ...] = ()
    refused: StepFault | None = None

    def at(self, *places: Location | None) -> Location:
        """The first known of these places, else where the probe is declared."""
        return next((place for place in places if place is not None), self.probe.at)


class ProbeFailure(msgspec.Struct, frozen=True):
    """A declared probe that could not be imported or traced.

    Attributes:
        at: the user's line that failed, or else the probe's own.
        message: one line.
    """

    probe: ProbeSite
    at: Location
    message: str


def label(path: str) -> str:
    """`opt_state[0].mu` as `state.opt_state[0].mu`, `['w']` as `state['w']`."""
    return f"state{path}" if path.startswith("[") or not path else f"state.{path}"
