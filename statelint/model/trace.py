"""What the probe saw of one step: facts, never verdicts.

The worker prints these as JSON; the decoder checks every field, so that what rules look at is what they are
told.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from statelint.diagnostics import Location
from statelint.model.names import Names
from statelint.model.paths import label

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
    def family(self) -> str:
        """The dtype without its width: `float`, `int`, `uint`, `bool`, `complex`, `key`."""
        return re.sub(r"^b(?=float)|[\d<_].*", "", self.dtype)

    @property
    def described(self) -> str:
        """The notation with its weak type in words: `weak float32[]`."""
        return f"weak {self}" if self.weak else str(self)


Cause = Literal["weak type", "dtype", "shape"]
"""Why a leaf drifts, from the cheapest to the dearest."""


class Change(msgspec.Struct, frozen=True):
    """A leaf that came out of a call other than it went in. Calls count from 1."""

    call: int
    before: Aval
    after: Aval

    @property
    def cause(self) -> Cause:
        """A weak value that takes the width of what it meets (weak float32 to float16) changed for its weak type."""
        if self.before.shape != self.after.shape:
            return "shape"
        is_of_weakness = self.before.weak != self.after.weak and self.before.family == self.after.family
        return "dtype" if self.before.dtype != self.after.dtype and not is_of_weakness else "weak type"

    def __str__(self) -> str:
        """`goes into call 1 as float32[] and comes out as weak float32[]`."""
        return f"goes into call {self.call} as {self.before.described} and comes out as {self.after.described}"


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
        made: the user's line that made the initial leaf: a helper's own line when a helper made it.
        placed: the user's line that puts it in the state.
        produced: the user's line that produced it in the step.
        counter: its name is that of a step counter.
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
    placed: Location | None = None
    produced: Location | None = None
    counter: bool = False

    @property
    def label(self) -> str:
        """The path with the state's name before it."""
        return label(self.path)

    @property
    def drift(self) -> Change | None:
        """The first change of the dearest cause; None when the leaf keeps its aval."""
        causes: tuple[Cause, ...] = ("shape", "dtype", "weak type")
        return min(self.changes, key=lambda change: causes.index(change.cause), default=None)

    @property
    def is_stably_weak(self) -> bool:
        """Weakly typed, in and out: free in the loop, another key once a checkpoint brings it back strong."""
        return self.aval is not None and self.aval.weak and not self.changes


class StaticTrace(msgspec.Struct, frozen=True):
    """A static field of a node of the state.

    Attributes:
        owner: the class whose field it is.
        declared: the line of that class that declares it.
        value: short repr.
        changed: the step gives back another value (by `==`, as the treedef compares).
        after: short repr of that other value.
        comparable: False when `==` between two of these raises or gives no truth value.
        counter, in_state, resizes: what the names say: it counts steps; its owner is a state; shapes depend on it.
    """

    path: str
    name: str
    kind: StaticKind
    type: str
    owner: str
    value: str
    changed: bool = False
    after: str | None = None
    comparable: bool = True
    declared: Location | None = None
    made: Location | None = None
    produced: Location | None = None
    counter: bool = False
    in_state: bool = False
    resizes: bool = False

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
        donates: the step donates some of the state; None when it is not jitted, so that nothing says.
        restored: paths of the leaves that are to blame for the executables after a restore.
        refused: a later call fails.
    """

    probe: ProbeSite
    adapter: Literal["jax.jit", "equinox.filter_jit"]
    leaves: tuple[LeafTrace, ...]
    executables: Executables
    statics: tuple[StaticTrace, ...] = ()
    structure: tuple[StructureChange, ...] = ()
    donates: bool | None = None
    restored: tuple[str, ...] = ()
    refused: StepFault | None = None

    def named(self, names: Names) -> StepTrace:
        """The same trace, with what the names say of its leaves and static fields."""
        return msgspec.structs.replace(
            self,
            leaves=tuple(msgspec.structs.replace(leaf, counter=names.is_counter(leaf.name)) for leaf in self.leaves),
            statics=tuple(
                msgspec.structs.replace(
                    static,
                    counter=names.is_counter(static.name),
                    in_state=names.is_state(static.owner),
                    resizes=names.is_size(static.name),
                )
                for static in self.statics
            ),
        )

    @property
    def is_drifting(self) -> bool:
        """Some of the state does not come back as it was."""
        statics = any(static.changed for static in self.statics)
        return statics or bool(self.structure) or any(leaf.changes or leaf.value_after for leaf in self.leaves)

    @property
    def cost(self) -> str:
        """What a plain loop pays for a state that it does not get back, in words."""
        if self.refused is not None:
            return f"call {self.refused.call} fails: {self.refused.error}"
        if self.executables.loop is None:
            return f"{self.jit} compiles a new executable at every call"
        return f"{self.jit} compiles {self.executables.loop} executables in a plain loop"

    @property
    def restore_cost(self) -> str:
        """What a weak leaf that is stable in the loop costs, in words."""
        return f"{self.jit} compiles once more for the first restored state, which brings it back strong"

    @property
    def jit(self) -> str:
        """The jit, as one calls it."""
        return "jax.jit" if self.adapter == "jax.jit" else "eqx.filter_jit"

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
