"""Building the state that a probe declares, abstractly where it can be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax

from statelint.probe import frames, leaves
from statelint.probe.jaxprs import Jaxpr, out_avals
from statelint.probe.nodes import describe, is_leaf


@dataclasses.dataclass
class Built:
    """A state as it was built.

    Attributes:
        avals: of the leaves that are tracers, by place in the treedef's order.
        shares: the places whose leaves share a device buffer, each with the number of its group.
        jaxpr, variables: the traced factory, and the variable of each of its leaves.
    """

    tree: Any
    avals: dict[int, Any] = dataclasses.field(default_factory=dict)
    shares: dict[int, int] = dataclasses.field(default_factory=dict)
    jaxpr: Jaxpr | None = None
    variables: dict[int, Any] = dataclasses.field(default_factory=dict)

    def operation(self, place: int) -> list[frames.Place]:
        """The user's frames of the operation that made a leaf, innermost first."""
        return self.jaxpr.operation(self.variables[place]) if self.jaxpr and place in self.variables else []


def is_factory(state: Any) -> bool:
    """A callable that is no pytree itself: an equinox module is a state, a function a factory."""
    return callable(state) and is_leaf(state)


def given(tree: Any) -> Built:
    """A state that is there already: two of its leaves share a buffer when they are one on the device."""
    flat = enumerate(jax.tree_util.tree_leaves(tree))
    return Built(tree, shares=_groups({place: _device_buffer(leaf) for place, leaf in flat}))


def build(factory: Callable[..., Any], state_args: Sequence[Any]) -> Built:
    """Trace the factory, allocating nothing; where it refuses tracers, or hides one in a static field, call it for
    real on zeros.

    Raises:
        Exception: whatever the factory raises when it is called for real.
    """
    arguments, treedef = jax.tree_util.tree_flatten(leaves.resolve_notation(list(state_args)))
    places = [place for place, value in enumerate(arguments) if leaves.is_array(value)]
    placeholders = [leaves.abstract(arguments[place]) for place in places]
    seen: dict[str, Any] = {}

    def call(values: Sequence[Any]) -> Any:
        filled = list(arguments)
        for place, value in zip(places, values, strict=True):
            filled[place] = value
        return factory(*jax.tree_util.tree_unflatten(treedef, filled))

    def flat_factory(*tracers: Any) -> list[Any]:
        seen["tree"] = call(tracers)
        seen["leaves"] = {
            place: leaf
            for place, leaf in enumerate(jax.tree_util.tree_leaves(seen["tree"]))
            if leaves.is_jit_leaf(leaf) and not isinstance(leaf, jax.ShapeDtypeStruct)
        }
        return list(seen["leaves"].values())

    try:
        traced = jax.jit(flat_factory).trace(*placeholders)
        is_abstract = not _hides_tracer(seen["tree"])
    except Exception:
        is_abstract = False
    if not is_abstract:
        return given(call([leaves.zeros(aval) for aval in placeholders]))
    jaxpr = Jaxpr(traced.jaxpr.jaxpr)
    variables = dict(zip(seen["leaves"], jaxpr.jaxpr.outvars, strict=True))
    buffers = {place: jaxpr.buffer(leaf, variables[place]) for place, leaf in seen["leaves"].items()}
    avals = dict(zip(seen["leaves"], out_avals(traced), strict=True))
    return Built(seen["tree"], avals, _groups(buffers), jaxpr, variables)


def _hides_tracer(tree: Any) -> bool:
    return any(
        isinstance(leaf, jax.core.Tracer)
        for node in describe(tree).walk()
        for value in node.statics.values()
        for leaf in jax.tree_util.tree_leaves(value)
    )


def _device_buffer(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array):
        return None
    try:
        return leaf.unsafe_buffer_pointer() if leaf.size else id(leaf)
    except Exception:
        # PRNG keys, and arrays over several devices, have no one pointer; the object itself still tells.
        return id(leaf)


def _groups(buffers: dict[int, Any]) -> dict[int, int]:
    by_buffer: dict[Any, list[int]] = {}
    for place, buffer in buffers.items():
        if buffer is not None:
            by_buffer.setdefault(buffer, []).append(place)
    shared = [places for places in by_buffer.values() if len(places) > 1]
    return {place: number for number, places in enumerate(shared) for place in places}
