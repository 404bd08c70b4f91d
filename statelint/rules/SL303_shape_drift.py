"""A leaf of the state comes out of the step with another shape.

## What it does
Follows every leaf through the calls of a plain loop, until nothing changes any more, and reports those that
grow, shrink or change rank: an empty placeholder that the step fills, a reward of shape `(1,)` where reset gave `()`, a
history that is concatenated.

## What JAX does
The shape is part of the key of jit's cache: once more compiled for a leaf that takes its real shape at the
first step, at every call for one that grows. `lax.scan` and `lax.while_loop` refuse the carry.

## Example
```python
def init():
    return {"x": jnp.zeros(3), "history": jnp.array([])}


def step(state):
    return {"x": state["x"] + 1, "history": jnp.append(state["history"], state["x"][0])}
```

## Use instead
Give the leaf its final shape at once, and write into it:

```python
def init():
    return {"x": jnp.zeros(3), "history": jnp.zeros(1000), "n": jnp.zeros((), jnp.int32)}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Related, Severity
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL303", "shape-drift", Severity.ERROR)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A leaf whose shape drifts."""
    for leaf, drift, name in trace.drifting("shape"):
        related = (Related(leaf.made, "it is made here"),) if leaf.made and leaf.produced else ()
        where = trace.at(leaf.produced, leaf.made)
        yield RULE.at(where, f"{name} {drift}: {trace.cost(leaf.path)}", field=leaf.path, related=related)
