"""A step counter comes out of the step as it went in.

## What it does
Looks for an integer scalar with the name of a counter (`step`, `count`, `num_updates` ...; `counter-names` in the
configuration) that the step gives back unchanged, while it changes other leaves of the state and no other
counter advances: beside one that does, it is a setting, such as the number of steps to take. One that stands
deeper in the state and that the step does not even read is left alone.

## What JAX does
Nothing: the program runs, with one executable, and every step is step 0. A learning rate schedule stays where it
starts, Adam's bias correction divides by the same small number for ever, and every checkpoint has one name.

## Example
```python
@jax.jit
def train_step(state, batch):
    gradient = jax.grad(loss_fn)(state["params"], batch)
    params = state["params"] - schedule(state["step"]) * gradient
    return {"params": params, "step": state["step"]}
```

## Use instead
```python
    return {"params": params, "step": state["step"] + 1}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.paths import steps
from statelint.model.trace import LeafTrace, StepTrace
from statelint.rules import Rule

RULE = Rule("SL306", "counter-not-advanced", Severity.WARNING)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Counters that the step passes through, in a state that it changes."""
    # An evaluation gives the whole state back as it is.
    if all(leaf.passed for leaf in trace.leaves if not leaf.counter):
        return
    counters = [leaf for leaf in trace.leaves if leaf.counter and _counts(leaf)]
    if not all(leaf.passed for leaf in counters):
        return
    for leaf in counters:
        # A counter deep in the state that the step never looks at is some other part's to count.
        is_used = leaf.read or len(steps(leaf.path)) == 1
        if is_used:
            message = f"the step gives {leaf.label} back as it is: every step has the same number"
            yield RULE.at(trace.at(leaf.produced, leaf.placed, leaf.made), message, field=leaf.path)


def _counts(leaf: LeafTrace) -> bool:
    return leaf.aval is not None and not leaf.aval.shape and leaf.aval.family in ("int", "uint") and not leaf.is_key
