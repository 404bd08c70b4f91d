"""A step draws random numbers from a key that is the same at the next step.

## What it does
Follows the PRNG keys of a state through the step: a key that `jax.random` functions draw from, or split, and that
is given back unchanged; and in the source, a key made from a constant inside the step. `fold_in(key, step)` makes a
new key of each step and is no fault. `fold_in(key, 0)` makes the same key at every step, as does any number that the
step leaves as it is.

## What JAX does
Nothing at all: the same key gives the same numbers. Measured: two steps of a random walk with such a key are one
move, made twice.

## Example
```python
def step(state, x):
    mask = jax.random.bernoulli(state["key"], 0.5, x.shape)
    return {"key": state["key"], "w": state["w"] + mask * x}
```

## Use instead
```python
def step(state, x):
    key, draw = jax.random.split(state["key"])
    mask = jax.random.bernoulli(draw, 0.5, x.shape)
    return {"key": key, "w": state["w"] + mask * x}
```

## Fix safety
Unsafe: the numbers become others, which is the point. The fix is made where the draw and what gives the key back both
stand in the step's own body, and nothing else there reads the key.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Related, Severity
from statelint.model.paths import label
from statelint.model.trace import StepTrace
from statelint.model.turns import Turn
from statelint.rules import Rule

RULE = Rule("SL305", "key-not-advanced", Severity.ERROR)

ADVICE = Fix(False, "split the key, draw from one half and give back the other")


def in_source(turn: Turn) -> Iterator[Diagnostic]:
    """Keys that a step uses and does not replace."""
    for use in turn.keys:
        if use.path is None:
            message = f"{turn.step} draws from a key made of a constant: the same numbers at every step"
        else:
            message = f"{turn.step} uses {label(use.path)} and gives it back unchanged: the same numbers at every step"
        related = (Related(use.used, "it is used here"),) if use.used != use.at else ()
        fix = Fix(False, ADVICE.message, use.split)
        yield RULE.at(use.at, message, field=use.path, related=related, fix=fix)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Keys that come out as they went in, and from which the next step draws the same numbers."""
    for leaf in trace.leaves:
        if leaf.is_key and leaf.passed and leaf.drawn_again:
            message = f"the step uses {leaf.label} and gives it back unchanged: the same numbers at every step"
            where = trace.at(leaf.produced, leaf.used, leaf.placed, leaf.made)
            related = (Related(leaf.used, "it is used here"),) if leaf.used not in (None, where) else ()
            yield RULE.at(where, message, field=leaf.path, related=related, fix=ADVICE)
