"""The step gives back another value in a static field, so that every step is an executable of its own.

## What it does
Compares the static fields of the state that goes into the step with those that come out. Under
`equinox.filter_jit` the Python values among the leaves are static too, and compared alike.

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
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Related, Severity
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL202", "static-field-changes", Severity.ERROR)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A static field, or a leaf that the jit holds static, that the step changes."""
    for static in trace.statics:
        if static.changed and static.kind != "array":
            message = (
                f"the step changes the static field {static.label} from {static.value} to {static.after}: {trace.cost}"
            )
            places = {"it is declared here": static.declared, "it is set here": static.made}
            related = tuple(Related(place, text) for text, place in places.items() if place is not None)
            yield RULE.at(trace.at(static.produced, static.made), message, field=static.path, related=related)
    for leaf in trace.leaves:
        if leaf.held == "static" and leaf.value_after is not None and not leaf.counter:
            message = (
                f"{leaf.label} is a Python {leaf.python_type}, static under {trace.jit}, and the step changes it from"
                f" {leaf.value} to {leaf.value_after}: {trace.cost}"
            )
            yield RULE.at(trace.at(leaf.produced, leaf.made), message, field=leaf.path)
