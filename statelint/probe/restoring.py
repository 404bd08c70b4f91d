"""A state through a real checkpoint, in a temporary folder: saved, and restored with itself for the target."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

import jax

from statelint.probe import frames, leaves, placement
from statelint.probe.adapters import Adapter
from statelint.probe.states import State, is_aval

LARGEST = 2**30
"""Bytes of a state that is made for real."""


class Refused(Exception):
    """A state that cannot be taken through a checkpoint; the message is one line.

    Args:
        keys: the paths of its typed PRNG keys, where it can be without them.
    """

    def __init__(self, message: str, keys: Sequence[str] = ()) -> None:
        self.keys = list(keys)
        super().__init__(message)


def through(how: str, state: State, adapter: Adapter) -> State:
    """The state as orbax or flax's serialization brings it back. What the adapter holds static stays what it is.

    Raises:
        Refused: the state is too large to be made, or the library is missing or refuses it.
    """
    places = [place for place, value in enumerate(state.values) if is_aval(value)]
    size = sum(leaves.nbytes(state.values[place]) for place in places)
    if size > LARGEST:
        raise Refused(f"it is {size:,} bytes, too many to be made for real")
    made = [leaves.zeros(leaves.at(state.values[place], state.placed[place])) for place in places]
    is_plain = adapter.name == "jax.jit"
    try:
        back = saved(how, adapter.unflatten(state.treedef, made) if is_plain else made)
    except Exception as error:
        raise Refused(frames.one_line(error), _typed_keys(how, state, made, places)) from error
    if is_plain:
        flat = adapter.flatten(back)
        placed = list(map(placement.of_leaf, flat.leaves))
        return State(flat.root, [leaves.abstract(leaf) for leaf in flat.leaves], flat.treedef, placed)
    values, where = list(state.values), list(state.placed)
    for place, leaf in zip(places, back, strict=True):
        values[place], where[place] = leaves.abstract(leaf), placement.of_leaf(leaf)
    return State(state.root, values, state.treedef, where)


def _typed_keys(how: str, state: State, made: Sequence[Any], places: Sequence[int]) -> list[str]:
    """The paths of the typed keys, where the leaves can be saved with the data of these in their places."""
    is_key = [jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in made]
    raw = [jax.random.key_data(leaf) if typed else leaf for leaf, typed in zip(made, is_key, strict=True)]
    try:
        saved(how, raw)
    except Exception:
        return []
    paths = [node.path for node in state.root.leaves()]
    return [paths[place] for place, typed in zip(places, is_key, strict=True) if typed]


def saved(how: str, tree: Any) -> Any:
    """A tree of arrays, saved and restored.

    Raises:
        Exception: the library is missing or refuses it.
    """
    with tempfile.TemporaryDirectory(prefix="statelint-") as folder:
        return _orbax(tree, os.path.join(folder, "state")) if how == "orbax" else _flax(tree)


def _orbax(tree: Any, folder: str) -> Any:
    import orbax.checkpoint  # type: ignore[import-untyped,unused-ignore]

    with orbax.checkpoint.StandardCheckpointer() as checkpointer:
        checkpointer.save(folder, tree)
        checkpointer.wait_until_finished()
        return checkpointer.restore(folder, tree)


def _flax(tree: Any) -> Any:
    from flax import serialization

    return serialization.from_bytes(tree, serialization.to_bytes(tree))
