"""A leaf of the state comes out of the step with another dtype.

## What it does
Follows every leaf through the calls of a plain loop, until nothing changes any more, and reports those whose
dtype changes: an integer counter that a float is added to, bfloat16 params that a float32 learning rate
promotes, a reward that is a bool in the step and a float at reset.

## What JAX does
The dtype is part of the key of jit's cache, so the loop compiles once more at the call after the change.
`lax.scan` refuses the carry. The old buffer cannot be reused when it is donated, and the numbers are not what
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
from statelint.model.source import Expression
from statelint.model.trace import StepTrace
from statelint.model.turns import Turn
from statelint.rules import Rule

RULE = Rule("SL302", "dtype-drift", Severity.ERROR)


def in_source(turn: Turn) -> Iterator[Diagnostic]:
    """What goes in as an int and comes out as a float, and the like."""
    for change in turn.changes:
        if change.aspect == "dtype":
            related = (Related(change.made, "it is made here"),) if change.made is not None else ()
            what = f"{change.label} goes into {turn.step} as {change.before} and comes out as {change.after}"
            message = f"{what}: one more executable in a loop, and lax.scan refuses it"
            yield RULE.at(change.at, message, field=change.path, related=related, fix=_fix(change.literal))


def _fix(literal: Expression | None) -> Fix | None:
    if literal is None or literal.number is None:
        return None
    whole = str(int(literal.number))
    return Fix(True, f"write `{whole}`", replace(literal.at, whole))


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A leaf whose dtype drifts."""
    for leaf, drift, name in trace.drifting("dtype"):
        related = (Related(leaf.made, "it is made here"),) if leaf.made and leaf.produced else ()
        where = trace.at(leaf.produced, leaf.made)
        yield RULE.at(where, f"{name} {drift}: {trace.cost(leaf.path)}", field=leaf.path, related=related)
