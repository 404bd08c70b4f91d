"""Building the state that a probe declares, abstractly where it can be."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Collection, Sequence
from typing import Any

import jax
import numpy as np

from statelint.probe import frames, leaves, placement
from statelint.probe.adapters import Adapter, is_factory
from statelint.probe.adapters.plain import Flat
from statelint.probe.jaxprs import Jaxpr, constants, out_avals
from statelint.probe.nodes import Node

SMALL = 2**26
"""Bytes of a state that is made for real to see where an eager factory puts it, and what shares a buffer."""


class ProbeError(Exception):
    """A probe that cannot be traced as it is declared; the message is one line."""


@dataclasses.dataclass
class Built:
    """A state as it was built.

    Attributes:
        avals: of the leaves that are tracers, by place in the treedef's order.
        shares: the places whose leaves share a device buffer, each with the number of its group.
        guessed: the groups are those that the trace allows, which nothing could be made of for real.
        placed: where leaves are committed to, by place.
        jaxpr, variables: the traced factory, and the variable of each of its leaves.
    """

    tree: Any
    adapter: Adapter
    flat: Flat
    avals: dict[int, Any] = dataclasses.field(default_factory=dict)
    shares: dict[int, int] = dataclasses.field(default_factory=dict)
    guessed: bool = False
    placed: dict[int, Any] = dataclasses.field(default_factory=dict)
    jaxpr: Jaxpr | None = None
    variables: dict[int, Any] = dataclasses.field(default_factory=dict)

    def operation(self, place: int) -> list[frames.Place]:
        """The user's frames of the operation that made a leaf, innermost first."""
        return self.jaxpr.operation(self.variables[place]) if self.jaxpr and place in self.variables else []

    def library(self, place: int) -> frames.Place | None:
        """The library's line that made a leaf."""
        return self.jaxpr.library(self.variables[place]) if self.jaxpr and place in self.variables else None


Choose = Callable[[Any], Adapter]
"""The adapter for a state, once it is there."""


def build(state: Any, state_args: Sequence[Any], returns: Any, choose: Choose) -> Built:
    """The state that a probe declares, built by its factory where it has one.

    Args:
        returns: where it stands in what the factory gives back.
    """
    if not is_factory(state):
        return _given(leaves.resolve_notation(state), choose)

    def factory(*arguments: Any) -> Any:
        return pick(state(*arguments), returns, "state_returns", "the factory's result")

    return _made(factory, state_args, choose)


def way(keys: Any) -> tuple[int | str, ...]:
    """What an option names of a result, as steps."""
    return () if keys is None else (keys,) if isinstance(keys, int | str) else tuple(keys)


def pick(result: Any, keys: Any, option: str, what: str) -> Any:
    """The part of a result that an option names: by index, key or attribute, or a sequence of these.

    Raises:
        ProbeError: there is no such part.
    """
    for key in way(keys):
        try:
            result = getattr(result, key) if isinstance(key, str) and hasattr(result, key) else result[key]
        except Exception:
            raise ProbeError(f"{option} = {keys!r}: {what} has no {key!r}") from None
    return result


def _given(tree: Any, choose: Choose, borrowed: Collection[int] = ()) -> Built:
    """A state that is there already: two of its leaves share a buffer when they are one on the device.

    Args:
        borrowed: where NumPy arrays lie. An older jax may leave one in place, which is then no buffer that is donated.
    """
    adapter = choose(tree)
    flat = adapter.flatten(tree)
    found = ((place, leaf, device_buffer(leaf)) for place, leaf in enumerate(flat.leaves))
    buffers = {place: id(leaf) if buffer in borrowed else buffer for place, leaf, buffer in found}
    # A placeholder stands for an array that is made where the step runs.
    made = placement.of_context()
    placed = {
        place: placement.of_leaf(leaf) or (made if isinstance(leaf, jax.ShapeDtypeStruct) else None)
        for place, leaf in enumerate(flat.leaves)
    }
    return Built(tree, adapter, flat, shares=_groups(buffers), placed=placed)


def _made(factory: Callable[..., Any], state_args: Sequence[Any], choose: Choose) -> Built:
    """Trace the factory, allocating nothing; where it refuses tracers, or hides one in a static field, call it for
    real on zeros. So is a small state of which the trace leaves open where it lies or what shares a buffer.

    Raises:
        Exception: whatever the factory raises when it is called for real.
    """
    arguments, treedef = jax.tree_util.tree_flatten(leaves.resolve_notation(list(state_args)))
    places = [place for place, value in enumerate(arguments) if leaves.is_array(value)]
    given = [arguments[place] for place in places]
    placeholders = [leaves.at(leaves.abstract(value), placement.of_leaf(value)) for value in given]
    seen: dict[str, Any] = {}

    def call(values: Sequence[Any]) -> Any:
        filled = list(arguments)
        for place, value in zip(places, values, strict=True):
            filled[place] = value
        return factory(*jax.tree_util.tree_unflatten(treedef, filled))

    def flat_factory(*tracers: Any) -> list[Any]:
        tree = call(tracers)
        seen["tree"], seen["adapter"] = tree, choose(tree)
        seen["flat"] = seen["adapter"].flatten(tree)
        seen["leaves"] = {
            place: leaf
            for place, leaf in enumerate(seen["flat"].leaves)
            if leaves.is_jit_leaf(leaf) and not isinstance(leaf, jax.ShapeDtypeStruct)
        }
        return list(seen["leaves"].values())

    try:
        traced = jax.jit(flat_factory).trace(*placeholders)
        is_abstract = not _hides_tracer(seen["flat"].root)
    except Exception:
        is_abstract = False
    if not is_abstract:
        return _given(call([leaves.zeros(aval) for aval in placeholders]), choose)
    jaxpr = Jaxpr(traced.jaxpr.jaxpr)
    variables = dict(zip(seen["leaves"], jaxpr.jaxpr.outvars, strict=True))
    shares = _groups({place: jaxpr.buffer(leaf, variables[place]) for place, leaf in seen["leaves"].items()})
    avals = dict(zip(seen["leaves"], out_avals(traced), strict=True))
    placed = {place: jaxpr.placed(variable) for place, variable in variables.items()}
    named = [*placed.values(), *(aval.sharding for aval in placeholders), placement.of_context()]
    named += map(placement.of_leaf, constants(traced.jaxpr))
    # What an eager operation makes of a placed array is placed, too, and a trace does not say where.
    is_open = any(place is not None for place in named) and not all(placed.values())
    is_guess = bool(shares)
    if (is_open or is_guess) and sum(map(leaves.nbytes, [*avals.values(), *placeholders])) <= SMALL:
        with contextlib.suppress(Exception):
            borrowed = {value.ctypes.data for value in constants(traced.jaxpr) if isinstance(value, np.ndarray)}
            real = _given(call([leaves.zeros(aval) for aval in placeholders]), choose, borrowed)
            if len(real.flat.leaves) == len(seen["flat"].leaves):
                placed = {place: real.placed[place] for place in placed}
                shares, is_guess = real.shares, False
    return Built(seen["tree"], seen["adapter"], seen["flat"], avals, shares, is_guess, placed, jaxpr, variables)


def _hides_tracer(root: Node) -> bool:
    return any(
        isinstance(leaf, jax.core.Tracer)
        for node in root.walk()
        for value in node.statics.values()
        for leaf in jax.tree_util.tree_leaves(value)
    )


def device_buffer(leaf: Any) -> Any:
    """What tells the device buffer of a concrete array apart; None for what has none."""
    if not isinstance(leaf, jax.Array):
        return None
    try:
        # Of an array over several devices one shard tells: the others are shared with it.
        return leaf.addressable_shards[0].data.unsafe_buffer_pointer() if leaf.size else id(leaf)
    except Exception:
        return id(leaf)


def _groups(buffers: dict[int, Any]) -> dict[int, int]:
    by_buffer: dict[Any, list[int]] = {}
    for place, buffer in buffers.items():
        if buffer is not None:
            by_buffer.setdefault(buffer, []).append(place)
    shared = [places for places in by_buffer.values() if len(places) > 1]
    return {place: number for number, places in enumerate(shared) for place in places}
