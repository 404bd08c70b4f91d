"""What each library's jit calls a state: which leaves it traces, which it holds static, how the state comes apart.

An adapter is a module with a class of the same form as `Adapter`; the first that recognises the step or the
state is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from statelint.probe.adapters.equinox import Equinox
from statelint.probe.adapters.nnx import Nnx
from statelint.probe.adapters.plain import Flat, Plain


class Adapter(Protocol):
    """How one library's jit splits a state."""

    @property
    def name(self) -> str:
        """The jit's full name, as the model writes it."""

    @property
    def in_place(self) -> bool:
        """Whether the step changes the state that it is given, and need not return it."""

    def recognises(self, step: Callable[..., Any], state: Any) -> bool:
        """Whether this is the library's jit, or a state that only its jit takes."""

    def is_traced(self, leaf: Any) -> bool:
        """Whether the leaf is traced; it is held static otherwise."""

    def flatten(self, tree: Any) -> Flat:
        """The state as nodes, leaves and what is static of it."""

    def unflatten(self, treedef: Any, leaves: Sequence[Any]) -> Any:
        """The state again."""

    def jit(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """A step that nothing has jitted yet, jitted anew."""


ADAPTERS: tuple[Adapter, ...] = (Equinox(), Nnx(), Plain())


def adapter_for(steps: Sequence[Callable[..., Any]], state: Any) -> Adapter:
    """The adapter for a step, given with all that it wraps, outermost first, and its state."""
    return next(adapter for adapter in ADAPTERS if any(adapter.recognises(step, state) for step in steps))


def is_jit(step: Callable[..., Any]) -> bool:
    """Whether a function is jitted, by whichever library: the one at hand, not what it wraps."""
    return hasattr(step, "trace") or Equinox.is_filter_jit(step) or Nnx.is_nnx_jit(step)


def is_factory(state: Any) -> bool:
    """A callable that is no state itself: an equinox or nnx module is a state, a function a factory."""
    return callable(state) and not Nnx.holds_module(state) and Plain().is_leaf(state)
