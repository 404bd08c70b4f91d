"""`jax.jit`: every leaf is traced, and what is not an array or a number is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from statelint.probe.leaves import is_jit_leaf
from statelint.probe.nodes import Node, describe, is_leaf


class Flat(NamedTuple):
    """A state taken apart: as nodes, as leaves in the treedef's order, and the treedef with all that is static."""

    root: Node
    leaves: list[Any]
    treedef: Any


class Plain:
    """`jax.jit`, and a step that nothing has jitted yet."""

    name = "jax.jit"
    in_place = False
    is_leaf = staticmethod(is_leaf)

    def recognises(self, step: Callable[..., Any], state: Any) -> bool:
        """Always: this is the last resort."""
        return True

    def is_traced(self, leaf: Any) -> bool:
        """Arrays, NumPy scalars and Python numbers."""
        return is_jit_leaf(leaf)

    def flatten(self, tree: Any) -> Flat:
        """As JAX does."""
        return Flat(describe(tree), *jax.tree_util.tree_flatten(tree))

    def unflatten(self, treedef: Any, leaves: Sequence[Any]) -> Any:
        """As JAX does."""
        return jax.tree_util.tree_unflatten(treedef, leaves)

    def jit(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Under a new `jax.jit`; a function of our own, since jits of one function share a cache."""
        jitted: Callable[..., Any] = jax.jit(lambda *args: step(*args))
        return jitted
