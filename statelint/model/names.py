"""What is called a state and what a counter: a short heuristic over names, which the configuration can replace.

Patterns are shell patterns, matched without regard to case against a name without its leading underscores.
"""

from __future__ import annotations

import fnmatch
import functools
import re

STATE_NAMES: tuple[str, ...] = ("*state", "*states", "state_*", "*carry")
"""Names of classes, variables and dict keys that are carried from step to step."""

COUNTER_NAMES: tuple[str, ...] = (
    "step",
    "steps",
    "*_step",
    "*_steps",
    "num_steps*",
    "n_steps*",
    "count",
    "*_count",
    "*counter*",
    "iter",
    "iters",
    "iteration*",
    "*_iter",
    "num_updates",
    "n_updates",
    "n_accepted",
    "epoch",
    "t",
)
"""Names of leaves that count steps."""

SIZE_NAMES: tuple[str, ...] = (
    "*ndim*",
    "*shape*",
    "*size*",
    "*dim",
    "*dims",
    "*axis*",
    "*axes*",
    "*length*",
    "*width*",
    "*depth*",
    "*features*",
    "*channels*",
    "num_*",
    "n_*",
    "max_*",
)
"""Names of static fields that shapes depend on: they cannot be leaves."""


class Names:
    """The patterns in force.

    Args:
        states: patterns for states, in place of `STATE_NAMES`.
        counters: patterns for counters, in place of `COUNTER_NAMES`.
    """

    def __init__(self, states: tuple[str, ...] = STATE_NAMES, counters: tuple[str, ...] = COUNTER_NAMES) -> None:
        self.states = states
        self.counters = counters

    def is_state(self, name: str) -> bool:
        """Whether a class, variable or key of this name is a state."""
        return _matches(name, self.states)

    def is_counter(self, name: str) -> bool:
        """Whether a leaf of this name counts steps."""
        return _matches(name, self.counters)

    def is_size(self, name: str) -> bool:
        """Whether a field of this name decides a shape."""
        return _matches(name, SIZE_NAMES) and not self.is_counter(name)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return bool(_compiled(patterns).fullmatch(name.strip("_").lower()))


@functools.cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern.lower()) for pattern in patterns) or r"(?!)")
