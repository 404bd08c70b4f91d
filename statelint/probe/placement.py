"""Where arrays live: whether they are committed to devices, and how a call moves them.

jit's key holds each array's sharding, and whether the array is committed to it. One committed input commits all
outputs, and so does a sharding that the step itself names: an uncommitted leaf is then another key at the next
call. JAX says nothing of it. On a single device that is a second compile without a second trace; a mesh is part of
the aval, and what comes onto one, or onto another, is traced again, too, even a leaf that the step does not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Placement = Any
"""The sharding that a leaf is committed to; None for one that goes wherever the others are."""


def of_leaf(leaf: Any) -> Placement:
    """Where a concrete array, or a placeholder with a sharding, is committed to."""
    if isinstance(leaf, jax.core.Tracer):
        return None
    if isinstance(leaf, jax.Array):
        return leaf.sharding if leaf.committed else None
    return leaf.sharding if isinstance(leaf, jax.ShapeDtypeStruct) else None


def of_context() -> Placement:
    """Where a mesh that is set for all computations commits what has no other place."""
    if jax.sharding.get_abstract_mesh().empty:
        return None
    # jax 0.5 has no public name for the devices of that mesh, but an array is put on them.
    return _replicated(jnp.zeros(()).sharding)


def of_restored() -> Placement:
    """Where an array is committed that is made of what was saved: to the mesh that is set, or nowhere."""
    return None if of_context() is None else of_leaf(jnp.asarray(np.zeros((), np.float32)))


def explicit(aval: Any, known: Iterable[Placement]) -> Placement:
    """The sharding that an aval carries, on a mesh of explicit axes: placements that are known tell its devices."""
    sharding = getattr(aval, "sharding", None)
    return on_devices(sharding, known) if is_explicit(sharding) else None


def on_devices(sharding: Any, known: Iterable[Placement]) -> Placement:
    """A sharding over an abstract mesh on the devices of a known one; None where there is none such."""
    mesh = getattr(sharding, "mesh", None)
    if sharding is None or mesh is None or isinstance(mesh, jax.sharding.Mesh):
        return sharding
    meshes = (getattr(place, "mesh", None) for place in known)
    found = next((other for other in meshes if other is not None and other.abstract_mesh == mesh), None)
    return None if found is None else jax.sharding.NamedSharding(found, sharding.spec)


def after(
    named: Iterable[Placement], given: Sequence[Placement], said: Sequence[Placement], chosen: Sequence[Any] | None
) -> list[Placement]:
    """Where the leaves that come out of a call are committed.

    Args:
        named: the places of all inputs that the call uses, and those that the step itself names.
        given: where the leaf that each output takes the place of went in.
        said: what the step says of the place of each output; None where it says nothing.
        chosen: the sharding of each output as it was compiled; None: it was not.
    """
    committed = [place for place in named if place is not None]
    if not committed:
        return [None] * len(given)
    if chosen is not None:
        return list(chosen)
    widest = max(committed, key=lambda place: len(place.device_set))
    shared = _replicated(widest)
    # Where a leaf is that jit drops says nothing of what comes in its place, and a mesh takes all others onto it.
    stays = [
        own in committed
        and own.device_set == widest.device_set
        and not is_explicit(own)
        and (_mesh(widest) is None or _mesh(own) is not None)
        for own in given
    ]
    return [
        place if place is not None else own if is_own else shared
        for place, own, is_own in zip(said, given, stays, strict=True)
    ]


def is_explicit(place: Placement) -> bool:
    """Whether avals carry it: a result of which its own aval says nothing is not there."""
    mesh = getattr(place, "mesh", None)
    return mesh is not None and not mesh.empty and jax.sharding.AxisType.Explicit in mesh.axis_types


def _mesh(place: Placement) -> Any:
    """The mesh that the aval of a leaf at this place carries; None for none."""
    mesh = getattr(place, "mesh", None)
    return None if mesh is None or mesh.empty else getattr(mesh, "abstract_mesh", mesh)


class RefusedError(Exception):
    """jit does not take arguments at these places."""


def check_devices(named: Iterable[tuple[str, Placement]]) -> None:
    """Whether one program can have all that is committed, each with its name.

    Raises:
        RefusedError: two of them are on different devices.
    """
    first: tuple[str, Placement] | None = None
    for name, place in named:
        if place is None:
            continue
        first = first or (name, place)
        if place.device_set != first[1].device_set:
            pairs = " and ".join(f"{what} {in_words(where)}" for what, where in (first, (name, place)))
            raise RefusedError(f"jit is given incompatible devices: {pairs}")


def check_asked(name: str, place: Placement, asked: Any, aval: Any) -> None:
    """Whether a jit with `in_shardings` takes a committed leaf: it is moved to other devices, but not cut otherwise.

    Raises:
        RefusedError: it is surely committed to another sharding.
    """
    if place is None or (place.is_fully_replicated and asked.is_fully_replicated):
        return
    is_cut_alike = (
        bool(place.is_equivalent_to(asked, len(aval.shape)))
        if place.device_set == asked.device_set
        else len(place.device_set) == len(asked.device_set)
    )
    if not is_cut_alike:
        raise RefusedError(f"{name} is {in_words(place)}, and the in_shardings of the jit say {in_words(asked)}")


def _replicated(sharding: Any) -> Any:
    """What XLA gives a leaf that nothing says more of: a copy on every device."""
    mesh = getattr(sharding, "mesh", None)
    if mesh is None:
        return sharding
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def same(one: Placement, other: Placement, aval: Any, *, is_by_aval: bool = False) -> bool:
    """Whether a leaf of this aval makes the same key at both: itself, or only its aval."""
    if is_by_aval and not is_explicit(one) and not is_explicit(other):
        return bool(_mesh(one) == _mesh(other))
    if one is None or other is None or one == other:
        return one is other or one == other
    is_one_mesh = getattr(one, "mesh", None) == getattr(other, "mesh", None)
    return is_one_mesh and bool(one.is_equivalent_to(other, len(aval.shape)))


def in_words(place: Placement) -> str:
    """`uncommitted`, `committed to cpu:0`, `sharded P('data',) over 4 devices`."""
    if place is None:
        return "uncommitted"
    devices = sorted(place.device_set, key=lambda device: device.id)
    if len(devices) == 1:
        return f"committed to {devices[0].platform}:{devices[0].id}"
    spec = getattr(place, "spec", None)
    how = "replicated" if place.is_fully_replicated else f"sharded {_spec(spec)}" if spec is not None else "sharded"
    return f"{how} over {len(devices)} devices"


def _spec(spec: Any) -> str:
    """As one writes it, in every version of JAX alike."""
    axes = list(spec)
    while axes and axes[-1] is None:
        axes.pop()
    return f"P({', '.join(map(repr, axes))})"
