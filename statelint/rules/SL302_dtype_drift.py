"""A leaf of the state comes out of the step with another dtype.

## What it does
Follows every leaf through the calls of a plain loop, until nothing changes any more, and reports those whose
dtype changes: an integer counter that a float is added to, bfloat16 params that a float32 learning rate
promotes, a reward that is a bool in the step and a float at reset.

## What JAX does
The dtype is part of the key of jit's cache, so the loop compiles once more at the call after the change.
`lax.scan`, `while_loop` and `fori_loop` refuse the carry, but for a weak one (a Python number, `jnp.asarray(0)`), which
they promote to what comes out. The old buffer cannot be reused when it is donated, and the numbers are not what
they were meant to be: measured, `int32_array + 1.0` is a weak float32, and `bfloat16_array *
numpy.float32(1e-3)` a float32 of twice the bytes. `strong_array * 2.0` keeps its dtype, in bfloat16 too: only
Python numbers adapt.

## Example
```python
def step(state):
    return {"count": state["count"] + 1.0}
```

## Use instead
```python
def step(state):
    return {"count": state["count"] + 1}
```

or cast back what must be computed in another type: `new.astype(old.dtype)`.

## Fix safety
A whole float that is added to an int (`+ 1.0`) becomes that int. Safe: the leaf keeps the dtype and the value that it
had at the first call. All else is advice.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Related, Severity, replace
from statelint.model.trace import StepTrace
from statelint.model.turns import Change, Turn
from statelint.model.wording import brief
from statelint.rules import Rule

RULE = Rule("SL302", "dtype-drift", Severity.ERROR)


def in_source(turn: Turn) -> Iterator[Diagnostic]:
    """What goes in as an int and comes out as a float, and the like."""
    for change in turn.changes:
        # A loop of jax.lax promotes a weak carry to what comes out of its body.
        if change.aspect == "dtype" and not (turn.loop and change.weak):
            related = (Related(change.made, "it is made here"),) if change.made is not None else ()
            what = f"{change.label} goes into {turn.step} as {change.before} and comes out as {change.after}"
            message = f"{what}: {turn.cost(weak=change.weak)}"
            yield RULE.at(change.at, message, field=change.path, related=related, fix=_fix(change))


DTYPES = {"int": "jnp.int32", "float": "jnp.float32"}
ARTICLES = {"int": "an"}


def _fix(change: Change) -> Fix:
    literal, dtype = change.literal, DTYPES.get(change.after or "", "bool")
    if literal is not None and literal.number is not None:
        return Fix(True, f"write `{brief(change.mended)}`", replace(literal.at, str(int(literal.number))))
    start = change.start.text if change.start is not None else ""
    array = f"jnp.asarray({start}, {dtype})" if start.strip("0.") else f"jnp.zeros((), {dtype})"
    beginning = f"`{array}`" if start else f"{ARTICLES.get(change.after or '', 'a')} {change.after}"
    return Fix(False, f"start it as {beginning}, or cast back what is computed: `.astype(...)`")


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A leaf whose dtype drifts."""
    for leaf, drift, name in trace.drifting("dtype"):
        related = (Related(leaf.made, "it is made here"),) if leaf.made and leaf.produced else ()
        where = trace.at(leaf.produced, leaf.made)
        yield RULE.at(where, f"{name} {drift}: {trace.cost(leaf.path)}", field=leaf.path, related=related)
