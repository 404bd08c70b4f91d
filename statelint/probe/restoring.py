"""A state through a real checkpoint, in a temporary folder: saved, and restored with itself for the target."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from statelint.probe import frames, leaves, placement
from statelint.probe.adapters import Adapter
from statelint.probe.build import ProbeError
from statelint.probe.states import State, is_aval

LARGEST = 2**30
"""Bytes of a state that is made for real."""


def through(how: str, state: State, adapter: Adapter) -> State:
    """The state as orbax or flax's serialization brings it back. What the adapter holds static stays what it is.

    Raises:
        ProbeError: the state is too large to be made, or the library is missing or refuses it.
    """
    places = [place for place, value in enumerate(state.values) if is_aval(value)]
    size = sum(leaves.nbytes(state.values[place]) for place in places)
    if size > LARGEST:
        raise ProbeError(f"--restore {how}: the state is {size:,} bytes, too many to be made for real")
    made = [leaves.zeros(leaves.at(state.values[place], state.placed[place])) for place in places]
    if adapter.name == "jax.jit":
        flat = adapter.flatten(saved(how, adapter.unflatten(state.treedef, made)))
        placed = list(map(placement.of_leaf, flat.leaves))
        return State(flat.root, [leaves.abstract(leaf) for leaf in flat.leaves], flat.treedef, placed)
    values, where = list(state.values), list(state.placed)
    for place, leaf in zip(places, saved(how, made), strict=True):
        values[place], where[place] = leaves.abstract(leaf), placement.of_leaf(leaf)
    return State(state.root, values, state.treedef, where)


def saved(how: str, tree: Any) -> Any:
    """A tree of arrays, saved and restored.

    Raises:
        ProbeError: the library is missing or refuses it.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="statelint-") as folder:
            return _orbax(tree, os.path.join(folder, "state")) if how == "orbax" else _flax(tree)
    except Exception as error:
        raise ProbeError(f"--restore {how}: {frames.one_line(error)}") from error


def _orbax(tree: Any, folder: str) -> Any:
    import orbax.checkpoint  # type: ignore[import-untyped,unused-ignore]

    with orbax.checkpoint.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder, tree)
        checkpointer.wait_until_finished()
        return checkpointer.restore(folder, tree)


def _flax(tree: Any) -> Any:
    from flax import serialization

    return serialization.from_bytes(tree, serialization.to_bytes(tree))
