"""A leaf is carried through the step, and nothing reads it.

## What it does
Looks for leaves that come out of the step as they went in, while no operation and no other output depends on
them. Pedantic, so off unless it is selected: a state may well carry what another function reads.

## What JAX does
jit leaves an argument that nothing reads out of the compiled program, and hands the buffer on. It costs its memory, a
place in every checkpoint, and an executable each time that its shape or dtype changes.

## Example
```python
def step(state, gradient):
    return {"params": state["params"] - 0.1 * gradient, "grid": state["grid"]}
```

## Use instead
Keep it beside the state, or close over it:

```python
def step(state, gradient):
    return {"params": state["params"] - 0.1 * gradient}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL405", "unread-leaf", Severity.INFO, default=False)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Leaves that are carried and never read."""
    for leaf in trace.leaves:
        if leaf.passed and not leaf.read:
            message = f"{leaf.label}, {leaf.nbytes:,} bytes, is carried through the step, and nothing reads it"
            yield RULE.at(trace.at(leaf.placed, leaf.made), message, field=leaf.path)
