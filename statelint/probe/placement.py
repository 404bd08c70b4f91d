"""Where arrays live: whether they are committed to devices, and how a call moves them.

jit's key holds each array's sharding, and whether the array is committed to it. One committed input commits all
outputs, so an uncommitted leaf beside a committed one is another key at the next call: a second compile without
a second trace, of which JAX says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

Placement = Any
"""The sharding that a leaf is committed to; None for one that goes wherever the others are."""


def of_leaf(leaf: Any) -> Placement:
    """Where a concrete array, or a placeholder with a sharding, is committed to."""
    if isinstance(leaf, jax.core.Tracer):
        return None
    if isinstance(leaf, jax.Array):
        return leaf.sharding if leaf.committed else None
    return leaf.sharding if isinstance(leaf, jax.ShapeDtypeStruct) else None


def after(given: Sequence[Placement], others: Sequence[Placement], count: int) -> list[Placement]:
    """Where the leaves that come out of a call are committed, when those that went in stood here.

    Args:
        given: of the leaf that each output takes the place of.
        others: of all other inputs.
        count: how many leaves come out.
    """
    committed = [place for place in (*given, *others) if place is not None]
    if not committed:
        return [None] * count
    widest = max(committed, key=lambda place: len(place.device_set))
    shared = _replicated(widest)
    padded = [*given, *[None] * count][:count]
    return [place if place is not None and place.device_set == widest.device_set else shared for place in padded]


def _replicated(sharding: Any) -> Any:
    """What XLA gives a leaf that nothing says more of: a copy on every device."""
    mesh = getattr(sharding, "mesh", None)
    if mesh is None:
        return sharding
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def same(one: Placement, other: Placement) -> bool:
    """Whether they make the same key."""
    return (one is None) == (other is None) and bool(one is None or one == other)


def in_words(place: Placement) -> str:
    """`uncommitted`, `committed to cpu:0`, `sharded P('data',) over 4 devices`."""
    if place is None:
        return "uncommitted"
    devices = sorted(place.device_set, key=lambda device: device.id)
    if len(devices) == 1:
        return f"committed to {devices[0].platform}:{devices[0].id}"
    spec = getattr(place, "spec", None)
    how = "replicated" if place.is_fully_replicated else f"sharded {spec}" if spec is not None else "sharded"
    return f"{how} over {len(devices)} devices"
