"""`equinox.filter_jit`: arrays are traced, and all else, Python numbers too, is static.

Recognised without importing equinox, so that a project without it pays nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import jax

from statelint.probe.adapters.plain import Plain
from statelint.probe.leaves import is_array, is_jit_leaf


class Equinox(Plain):
    """A step under `equinox.filter_jit`, or a state of equinox modules that plain `jax.jit` would refuse."""

    name = "equinox.filter_jit"

    @staticmethod
    def is_filter_jit(step: Callable[..., Any]) -> bool:
        """Whether this is what `equinox.filter_jit` gives back."""
        return type(step).__module__.startswith("equinox.") and "Jit" in type(step).__name__

    def recognises(self, step: Callable[..., Any], state: Any) -> bool:
        """By the wrapper's own type, or by a module with leaves, such as activation functions, that jit refuses."""
        if self.is_filter_jit(step):
            return True
        equinox = sys.modules.get("equinox")
        if equinox is None or hasattr(step, "trace"):
            return False
        modules = [
            node
            for node in jax.tree_util.tree_leaves(state, is_leaf=lambda node: isinstance(node, equinox.Module))
            if isinstance(node, equinox.Module)
        ]
        return not all(is_jit_leaf(leaf) for leaf in jax.tree_util.tree_leaves(modules))

    def is_traced(self, leaf: Any) -> bool:
        """Arrays and NumPy scalars."""
        return is_array(leaf)

    def jit(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Under a new `equinox.filter_jit`."""
        jitted: Callable[..., Any] = sys.modules["equinox"].filter_jit(lambda *args: step(*args))
        return jitted
