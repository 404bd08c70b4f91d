"""A static field holds what never equals its rebuilt self: a lambda, a partial, a fresh optimizer, NaN.

## What it does
Finds static fields that are given a value which compares by identity, made anew each time the state is built. The
probe builds the state twice and compares; the source rule looks at states that a step builds: a lambda, a
`functools.partial`, `float("nan")` or an optax transformation in a static field, and
`state.replace(tx=optax.adam(...))`.

## What JAX does
The treedef is compared by `==`, and two lambdas, two partials, two `optax.adam(1e-3)` and two NaNs are never
equal. Each rebuilt state is another treedef: one more trace and compile each time.

It is an error where the step makes the value anew, so that every step compiles. It is advice where only the function
that builds the state does: a program that calls it once compiles once, and pays for each further state, such as the
fresh one that a checkpoint is restored into.

## Example
```python
def train_step(state, grads):
    state = state.apply_gradients(grads=grads)
    return state.replace(tx=optax.adam(schedule(epoch)))
```

## Use instead
Make it once, outside the function that builds the state, and leave it in place:

```python
model = Model()
tx = optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)


def create_state(params):
    return TrainState.create(apply_fn=model.apply, params=params, tx=tx)
```

A missing number is `-1.0` or `None` rather than NaN; a function is one that a module defines.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.source import StateItem, StateValue
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL205", "static-identity", Severity.ERROR)

ADVICE = Fix(False, "make it, or the object whose method it is, once: outside the function that builds the state")
NUMBER = Fix(False, "write `-1.0` or `None` for a number that is missing")


def in_source(value: StateValue) -> Iterator[Diagnostic]:
    """What a step makes anew in a static field."""
    for item in value.items:
        fresh = item.value.fresh
        if value.traced and fresh is not None and _is_static(item):
            message = f"{item.label} is static and is given {fresh} made in the step, which equals no other"
            yield RULE.at(item.value.at, f"{message}: one executable each time", field=item.path, fix=_fix(fresh))


def _is_static(item: StateItem) -> bool:
    """By its class; of an unknown class, the field that flax calls `tx`."""
    return item.is_static or (item.field is None and item.name == "tx" and item.path == "tx")


def _fix(value: str) -> Fix:
    return NUMBER if value.lower() == "nan" else ADVICE


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Static values that are not equal to themselves when the state is built a second time."""
    for static in trace.statics:
        # What the step makes anew is SL202's, but for NaN, which only looks the same.
        is_same = not static.changed or static.after == static.value
        if static.rebuilt is False and is_same and static.kind != "array":
            severity = Severity.ERROR if static.changed else Severity.INFO
            tail = (
                trace.cost(static.path)
                if static.changed
                else "one more executable for each further state that is built"
            )
            message = f"{static.label} is static, and {static.value} is not equal to itself made anew: {tail}"
            where = trace.at(static.made, static.produced, static.declared)
            yield RULE.at(where, message, field=static.path, severity=severity, fix=_fix(static.value))
