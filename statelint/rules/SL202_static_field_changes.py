"""The step gives back another value in a static field, so that every step is an executable of its own.

## What it does
Compares the static fields of the state that goes into the step with those that come out. Under
`equinox.filter_jit` the Python values among the leaves are static too, and compared alike; a counter among them is
SL101's.

## What JAX does
A static field is part of the treedef, and the treedef is part of the key of jit's cache. Measured: five
distinct values, five traces. A value that is made anew and never equals the last one (a lambda, a
`functools.partial`, `optax.adam(...)`, NaN) counts as distinct each time.

## Example
```python
@struct.dataclass
class TrainState:
    params: dict
    epoch: int = struct.field(pytree_node=False)


def train_step(state, grads):
    return state.replace(params=..., epoch=state.epoch + 1)
```

## Use instead
Make it a leaf, with an array to start from:

```python
@struct.dataclass
class TrainState:
    params: dict
    epoch: jax.Array  # jnp.zeros((), jnp.int32)
```

Or leave it as it is inside the step, and change it outside, as rarely as one is willing to compile.

## Fix safety
Unsafe: the field becomes a leaf, so that it is traced, and `if` on it no longer works in the step. The fix is made for
an int or float whose mark stands at the field, which it takes away.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Related, Severity
from statelint.model.source import Kind, StateField
from statelint.model.trace import StepTrace
from statelint.model.turns import Turn
from statelint.rules import Rule

RULE = Rule("SL202", "static-field-changes", Severity.ERROR)


def in_source(turn: Turn) -> Iterator[Diagnostic]:
    """A static field that the step reckons anew, or sets to another value."""
    for change in turn.changes:
        if change.aspect == "static":
            what = f"{turn.step} changes the static field {change.label}"
            if change.field is None:
                what = f"{turn.step} changes {change.label}, a Python {change.before} and static under eqx.filter_jit"
            message = f"{what}: each value is an executable of its own"
            yield RULE.at(change.at, message, field=change.path, fix=_fix(change.field))


def _fix(field: StateField | None) -> Fix:
    is_number = field is not None and field.kind in (Kind.INT, Kind.FLOAT)
    return Fix(False, "make it a leaf that starts as an array", field.as_data if field and is_number else ())


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A static field, or a leaf that the jit holds static, that the step changes."""
    for static in trace.statics:
        is_counter = static.counts_in_graphdef and trace.adapter == "flax.nnx.jit"
        is_same = static.rebuilt is False and static.after == static.value
        if static.changed and static.kind != "array" and not is_counter and not is_same:
            values = f"makes {static.value} anew, which never equals the last one"
            if static.after != static.value:
                values = f"changes it from {static.value} to {static.after}"
            message = f"{static.label} is static, and the step {values}: {trace.cost(static.path)}"
            places = {"it is declared here": static.declared, "it is set here": static.made}
            related = tuple(Related(place, text) for text, place in places.items() if place is not None)
            yield RULE.at(trace.at(static.produced, static.made), message, field=static.path, related=related)
    for leaf in trace.leaves:
        if leaf.held == "static" and leaf.value_after is not None and not leaf.counter:
            message = (
                f"{leaf.label} is a Python {leaf.python_type}, static under {trace.jit}, and the step changes it from"
                f" {leaf.value} to {leaf.value_after}: {trace.cost(leaf.path)}"
            )
            yield RULE.at(trace.at(leaf.produced, leaf.made), message, field=leaf.path)
