"""What the probe saw of one step: facts, never verdicts.

The worker prints these as JSON; the decoder checks every field, so that what rules look at is what they are
told.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from statelint.diagnostics import Location
from statelint.model.avals import Aval, Cause, Change, Move
from statelint.model.costs import CompiledDonation, Donation, Executables, Extra, RestoreFault, StepFault
from statelint.model.names import Names
from statelint.model.paths import label
from statelint.model.wording import listed

Held = Literal["array", "python", "numpy", "key", "static", "invalid"]
"""How a leaf of the initial state is held. ``static``: a Python value that the adapter's jit holds static;
``invalid``: jit refuses it."""

StaticKind = Literal["number", "array", "mutable", "callable", "text", "other"]

AdapterName = Literal["jax.jit", "equinox.filter_jit", "flax.nnx.jit"]

JITS: dict[AdapterName, str] = {"jax.jit": "jax.jit", "equinox.filter_jit": "eqx.filter_jit", "flax.nnx.jit": "nnx.jit"}
"""The jit of each adapter, as one calls it."""


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
        entered: of a shared leaf: the user's line that puts the subtree there in which it comes to be shared.
        produced: the user's line that produced it in the step.
        library: the library's own line that made the initial leaf, where it was no line of the user's.
        passed: call 1 gives back the very value that went in.
        read: some operation of call 1 reads it, or another output is made of it.
        raw_key: call 1 makes a PRNG key of the raw array.
        drawn_again: of a key: call 1 draws something from it that the next call would draw alike.
        used: of such a key: the user's line that first reads it in the step.
        lost: why no output reuses the buffer that call 1 donates.
        shares_guessed: the trace allows for it, and the state is too large to make it and see.
        clashes: the step is given that buffer twice, and donates it, which raises; None where it donates nothing.
        shares_argument: the other argument of the step that is the same buffer: `args[1]['w']`.
        clashes_argument: the same of that argument.
        moves: the calls at which it changed its place.
        is_dataclass: an invalid leaf that is an instance of a dataclass which nobody registered.
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
    entered: Location | None = None
    produced: Location | None = None
    used: Location | None = None
    library: Location | None = None
    passed: bool = False
    read: bool = True
    raw_key: bool = False
    drawn_again: bool = False
    lost: str | None = None
    shares_guessed: bool = False
    clashes: bool | None = None
    shares_argument: str | None = None
    clashes_argument: bool | None = None
    moves: tuple[Move, ...] = ()
    is_dataclass: bool = False
    counter: bool = False

    @property
    def label(self) -> str:
        """The path with the state's name before it."""
        return label(self.path)

    @property
    def is_key(self) -> bool:
        """A PRNG key, typed or raw."""
        return self.held == "key" or self.raw_key

    @property
    def drift(self) -> Change | None:
        """The first change of the dearest cause; None when the leaf keeps its aval."""
        causes: tuple[Cause, ...] = ("key kind", "shape", "dtype", "weak type")
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
        rebuilt: equal to itself when the state is built a second time; None where that cannot be told.
        is_aux: aux data of a class that is no dataclass, rather than a field.
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
    rebuilt: bool | None = None
    is_aux: bool = False
    declared: Location | None = None
    made: Location | None = None
    produced: Location | None = None
    counter: bool = False
    in_state: bool = False
    resizes: bool = False

    @property
    def counts_in_graphdef(self) -> bool:
        """An int that the step counts up; a Python attribute of an object, under nnx."""
        return self.changed and self.counter and self.type == "int"

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


class ClassFault(msgspec.Struct, frozen=True):
    """A class of the state that does not come back as it was when JAX flattens and unflattens it.

    Attributes:
        path: the first node of it; empty for the state itself.
        fault: what its unflatten does with leaves that are no arrays: ``raises`` on them, ``converts`` them or puts
            others in their place, or ``reorders`` them.
        error: what it raises.
        at: where it is defined.
    """

    path: str
    owner: str
    fault: Literal["raises", "converts", "reorders"]
    error: str | None = None
    at: Location | None = None


class ProbeSite(msgspec.Struct, frozen=True):
    """A declared probe: its name and where it is declared."""

    name: str
    at: Location

    @property
    def is_placed(self) -> bool:
        """It is known where: not of one that is asked for by its name, until its module is imported."""
        return self.at.path != self.name


class StepTrace(msgspec.Struct, frozen=True):
    """What one probe saw.

    Attributes:
        adapter: whose rules the state was split by: `jax.jit` (every leaf is traced), `equinox.filter_jit` (arrays
            are traced, all else is static) or `flax.nnx.jit` (Variables are traced, all else is static).
        donates: the step donates some of the state; None when it is not jitted, so that nothing says, or when no call
            could be traced.
        jitted: the step is jitted by itself.
        restored: paths of the leaves that are to blame for the executables after a restore.
        refused: a call fails on what it is given: a later one, or the first because of a class of the state.
        classes: those that JAX cannot take apart and put together again.
        step: where the step is defined.
        empty: the paths of nodes without a leaf below (`None`, an empty tuple, a masked part).
        donation: None when nothing of the state is donated, and nothing was compiled.
        extras: for each executable beyond the first, what is to blame.
        compiled: the step was compiled, so that its placements are those of XLA.
        uncompiled: why XLA refused to compile a call, where that was asked for.
        unrestored: what went wrong with the checkpoint.
        measured: what running the steps for real cost, where that was asked for.
        imported: the files that had been imported by then; jax, python: their versions. All empty in one's own process.
        printed: the last of what the project's code printed.
    """

    probe: ProbeSite
    adapter: AdapterName
    leaves: tuple[LeafTrace, ...]
    executables: Executables
    statics: tuple[StaticTrace, ...] = ()
    structure: tuple[StructureChange, ...] = ()
    donates: bool | None = None
    jitted: bool = False
    restored: tuple[str, ...] = ()
    refused: StepFault | None = None
    classes: tuple[ClassFault, ...] = ()
    step: Location | None = None
    empty: tuple[str, ...] = ()
    donation: Donation | None = None
    extras: tuple[Extra, ...] = ()
    compiled: bool = False
    uncompiled: str | None = None
    unrestored: RestoreFault | None = None
    measured: Executables | None = None
    imported: tuple[str, ...] = ()
    jax: str = ""
    python: str = ""
    printed: str = ""

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

    def drifting(self, cause: Cause) -> list[tuple[LeafTrace, Change, str]]:
        """The leaves that drift for this cause, each with its change and how to call it in a message.

        Those that change alike at the same lines (the layers of a model, the moments of its params) are one.
        """
        groups: dict[tuple[str, Location | None, Location | None], list[LeafTrace]] = {}
        for leaf in self.leaves:
            if leaf.drift is not None and leaf.drift.cause == cause:
                groups.setdefault((str(leaf.drift), leaf.made, leaf.produced), []).append(leaf)
        return [
            (first, first.drift, first.label + (f" (and {len(others)} more alike)" if others else ""))
            for first, *others in groups.values()
            if first.drift is not None
        ]

    def is_weak_until_restored(self, leaf: LeafTrace) -> bool:
        """A leaf that is weak all along and that a restore brings back strong; some classes make it weak again."""
        is_known = self.executables.loop is not None and self.refused is None
        return leaf.is_stably_weak and (leaf.path in self.restored or not is_known)

    def cost(self, path: str) -> str:
        """What a plain loop pays for a leaf, static field or node that it does not get back, in words."""
        calls = self._calls(path)
        if self.refused is not None:
            return f"call {self.refused.call} fails: {self.refused.error}"
        if self.always_changes(path):
            return f"{self.jit} compiles anew at every call, still at call {calls[-1]}"
        if not calls:
            return f"{self.jit} compiles {self.executables.loop} executables in a plain loop"
        return f"{self.jit} compiles again at {listed([f'call {call}' for call in calls])}"

    def always_changes(self, path: str) -> bool:
        """Whether a leaf, static field or node is to blame for an executable at every call."""
        return self.executables.loop is None and self._calls(path)[-1:] == [self._last]

    @property
    def _last(self) -> int:
        """The last call that is known to compile."""
        return max((extra.call for extra in self.extras if extra.call is not None), default=0)

    def _calls(self, path: str) -> list[int]:
        """The calls that compile because of it."""
        return sorted({extra.call for extra in self.extras if extra.path == path and extra.call is not None})

    @property
    def restore_cost(self) -> str:
        """What a weak leaf that is stable in the loop costs, in words."""
        if self.executables.restore > 1:
            more = f"{self.executables.restore} times more from the first restored state on"
        else:
            more = "once more for the first restored state"
        return f"{self.jit} compiles {more}, which brings it back strong"

    @property
    def compiled_donation(self) -> CompiledDonation | None:
        """What the compiled program makes of what it is given to reuse."""
        return self.donation.compiled if self.donation else None

    @property
    def jit(self) -> str:
        """The jit, as one calls it."""
        return JITS[self.adapter]

    def at(self, *places: Location | None) -> Location:
        """The first known of these places, else where the probe is declared."""
        return next((place for place in places if place is not None), self.probe.at)


class ProbeFailure(msgspec.Struct, frozen=True):
    """A declared probe that could not be imported or traced.

    Attributes:
        at: the user's line that failed, or else the probe's own.
        message: one line.
        printed: the last of what the project's code printed, and the traceback.
        last: the last lines of it, without the traceback.
    """

    probe: ProbeSite
    at: Location
    message: str
    printed: str = ""
    last: tuple[str, ...] = ()

    @property
    def is_placed(self) -> bool:
        """It is known where it failed: not of a name that stands for nothing."""
        return self.probe.is_placed or self.at != self.probe.at
