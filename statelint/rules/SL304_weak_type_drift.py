"""A leaf is weakly typed on one side of the step and strongly typed on the other.

## What it does
Follows every leaf through the calls of a plain loop until no key is new, and reports those whose weak type
changes at any of them.
Weak values come from Python numbers and from array functions of Python numbers alone: `jnp.asarray(0.0)`,
`jnp.full(shape, 1.0)`, `jnp.where(c, 1.0, 0.0)`.

## What JAX does
The weak type is part of the key of jit's cache. Weak in and strong out is a second executable at call 2. One
leaf can pull the next along: measured, Adam over a weak model leaf takes three executables, and a chain of n
weak carries compiles once per call until all are strong. A weak value that meets a narrower array takes its
dtype (weak float32 becomes float16); `lax.scan` promotes such a carry, but only once, and refuses a chain of two.

## Example
```python
def init():
    return {"loss_ema": jnp.asarray(0.0)}


def step(state, loss):
    return {"loss_ema": 0.9 * state["loss_ema"] + 0.1 * loss}
```

## Use instead
Give the leaf its dtype where it is made:

```python
def init():
    return {"loss_ema": jnp.zeros((), jnp.float32)}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Related, Severity
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL304", "weak-type-drift", Severity.WARNING)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A leaf whose weak type drifts."""
    for leaf, drift, name in trace.drifting("weak type"):
        # The weak side is the one to change.
        places = (leaf.made, leaf.produced) if drift.before.weak else (leaf.produced, leaf.made)
        other = (places[1], "it is computed here" if drift.before.weak else "it is made here")
        related = (Related(other[0], other[1]),) if other[0] is not None and places[0] is not None else ()
        yield RULE.at(trace.at(*places), f"{name} {drift}: {trace.cost(leaf.path)}", field=leaf.path, related=related)
