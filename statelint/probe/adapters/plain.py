"""`jax.jit`: every leaf is traced, and what is not an array or a number is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from statelint.probe.leaves import is_jit_leaf


class Plain:
    """`jax.jit`, and a step that nothing has jitted yet."""

    name = "jax.jit"

    def recognises(self, step: Callable[..., Any], state: Any) -> bool:
        """Always: this is the last resort."""
        return True

    def is_traced(self, leaf: Any) -> bool:
        """Arrays, NumPy scalars and Python numbers."""
        return is_jit_leaf(leaf)
