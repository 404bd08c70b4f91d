"""What is called a state and what a counter: a short heuristic over names; the configuration can replace it.

Patterns are shell patterns, matched without regard to case against a name without its leading underscores.
"""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Iterable

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

LIMIT_NAMES: tuple[str, ...] = (
    "max_*",
    "min_*",
    "total_*",
    "warmup_*",
    "decay_*",
    "transition_*",
    "every_*",
    "*_every_*",
    "*_per_*",
)
"""Names of settings that look like counters but bound one: never counters."""

CARRIES: frozenset[str] = frozenset({"s", "carry", "c"})
"""What a step that has no other state calls it where that is its first parameter."""

PARAMS_NAMES: tuple[str, ...] = ("params", "*_params", "parameters", "variables", "weights")
"""Names of values that are trees of arrays."""

OPTIMIZER_NAMES: tuple[str, ...] = (
    "opt",
    "opt_*",
    "optim",
    "optim_*",
    "optimizer*",
    "*_opt",
    "*_optimizer",
    "*opt_state*",
)
"""Names of what an optimizer carries."""

INIT_NAMES: tuple[str, ...] = (
    "init",
    "init_*",
    "*_init",
    "initial_*",
    "initialize",
    "reset",
    "create_*",
    "make_*state*",
)
"""Names of functions that build the first state."""

STEP_NAMES: tuple[str, ...] = (
    "*step*",
    "*update*",
    "*body*",
    "*apply*",
    "*loss*",
    "*forward*",
    "*rollout*",
    "call",
)
"""Names of functions that are traced as a rule: the leaves that they build are fresh buffers."""

EXPECTED_NAMES: tuple[str, ...] = ("expected*", "want", "want_*")
"""Names of what a test compares with: it is never carried."""

WRITTEN_NAMES: tuple[str, ...] = (
    *(
        "save",
        "save_*",
        "*save",
        "*_save_*",
        "*checkpoint*",
        "log",
        "log_*",
        "*_log",
        "print",
        "dump*",
        "*_dump",
        "write*",
    ),
    *("to_dict", "*state_dict", "to_bytes", "to_state*", "*serialize*", "*_to_dict"),
)
"""Names of functions that write down what they build or are given: it is not carried."""

BUILDER_NAMES: tuple[str, ...] = ("test*", "make_*", "create_*", "build_*", "get_*", "init*")
"""Names of functions that are no steps, whatever else is in their name: they build one, or test one."""

STATE_KEYS: tuple[str, ...] = (
    "params",
    "opt_state",
    "optimizer_state",
    "optim_state",
    "mu",
    "nu",
    "ema",
    "*ema_params",
    "average*",
    "target_params",
    "momentum",
    "velocity",
)
"""Keys of a state. A dict with one of them and another of these or of `STATE_KEYS_TOO` is one."""

STATE_KEYS_TOO: tuple[str, ...] = ("step", "count", "key", "rng", "rng_key", "prng_key", "batch_stats")

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
        return _matches(name, self.counters) and not _matches(name, LIMIT_NAMES)

    def is_size(self, name: str) -> bool:
        """Whether a field of this name decides a shape."""
        return _matches(name, SIZE_NAMES) and not self.is_counter(name)

    def is_state_key(self, key: str) -> bool:
        """Whether what a dict has under this key is an array, or a tree of them, as a rule."""
        return _matches(key, STATE_KEYS) or is_params(key) or self.is_state(key)

    def is_state_dict(self, keys: Iterable[str]) -> bool:
        """Whether a dict of these keys is a state, whatever it is called."""
        sure, likely = 0, 0
        for key in keys:
            sure += _matches(key, STATE_KEYS)
            likely += _matches(key, STATE_KEYS_TOO)
        return sure > 0 and sure + likely > 1


def is_params(name: str) -> bool:
    """Whether a value of this name is a tree of arrays."""
    return _matches(name, PARAMS_NAMES)


def is_optimizer(name: str) -> bool:
    """Whether a value of this name is an optimizer's state."""
    return _matches(name, OPTIMIZER_NAMES)


@functools.cache
def is_init(name: str) -> bool:
    """Whether a function of this name builds the first state."""
    return _matches(name, INIT_NAMES)


def is_state_maker(name: str) -> bool:
    """Whether the name of such a function speaks of a state and of nothing else that it might build."""
    return _matches(name, ("init", "init_*", "*_init", "initial_*", "create_*state*", "make_*state*"))


@functools.cache
def is_step(name: str) -> bool:
    """Whether a function of this name is traced as a rule."""
    return _matches(name, STEP_NAMES) and not _matches(name, BUILDER_NAMES)


@functools.cache
def is_written(name: str) -> bool:
    """Whether a function of this name writes down what it is given."""
    return _matches(name, WRITTEN_NAMES)


@functools.cache
def is_expected(name: str) -> bool:
    """Whether a test compares with what has this name."""
    return _matches(name, EXPECTED_NAMES)


@functools.cache
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return bool(_compiled(patterns).fullmatch(name.strip("_").lower()))


@functools.cache
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(_expression(pattern.lower()) for pattern in patterns) or r"(?!)")


def _expression(pattern: str) -> str:
    """What `fnmatch.translate` gives is right for all, and takes several times longer to compile."""
    if "[" in pattern:
        return fnmatch.translate(pattern)
    return "".join(_WILD.get(char) or re.escape(char) for char in pattern)


_WILD = {"*": ".*", "?": "."}
