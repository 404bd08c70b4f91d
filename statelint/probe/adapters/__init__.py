"""What each library's jit calls a state: which leaves it traces and which it holds static.

An adapter is a module with a class of the same form as `Adapter`; the first that recognises the step or the
state is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from statelint.probe.adapters.equinox import Equinox
from statelint.probe.adapters.plain import Plain


class Adapter(Protocol):
    """How one library's jit splits a state."""

    name: str

    def recognises(self, step: Callable[..., Any], state: Any) -> bool:
        """Whether this is the library's jit, or a state that only its jit takes."""

    def is_traced(self, leaf: Any) -> bool:
        """Whether the leaf is traced; it is held static otherwise."""


ADAPTERS: tuple[Adapter, ...] = (Equinox(), Plain())


def adapter_for(steps: Sequence[Callable[..., Any]], state: Any) -> Adapter:
    """The adapter for a step, given with all that it wraps, outermost first, and its state."""
    return next(adapter for adapter in ADAPTERS if any(adapter.recognises(step, state) for step in steps))


def is_jit(step: Callable[..., Any]) -> bool:
    """Whether a function is jitted, by whichever library: the one at hand, not what it wraps."""
    return hasattr(step, "trace") or Equinox.is_filter_jit(step)
