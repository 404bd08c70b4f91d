"""A plain dataclass is given to JAX as a state.

## What it does
Finds dataclasses that nothing registers as pytrees, and that go into a traced function: as an annotated parameter of
a function that is decorated by a jit, or as the carry of a `lax` loop. A probe sees them wherever they go in.

## What JAX does
`@dataclasses.dataclass` says nothing to JAX. The value is one leaf of a type that is no array: `jax.jit` raises a
TypeError at the first call, `lax.scan` too, and `jax.tree.map` treats the whole of it as one leaf. Under
`equinox.filter_jit` it is static instead, and never equal to a changed one.

## Example
```python
@dataclasses.dataclass
class TrainState:
    params: dict
    step: jax.Array


@jax.jit
def train_step(state: TrainState, batch): ...
```

## Use instead
```python
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class TrainState:
    params: dict
    step: jax.Array
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Related, Severity
from statelint.model.trace import StepTrace
from statelint.model.turns import UnregisteredState
from statelint.rules import Rule

RULE = Rule("SL601", "unregistered-state", Severity.ERROR)


def in_source(state: UnregisteredState) -> Iterator[Diagnostic]:
    """A plain dataclass where JAX wants a pytree."""
    message = f"{state.name} is a plain dataclass and goes into {state.taker}, which takes only registered classes"
    yield RULE.at(state.at, message, related=(Related(state.declared, f"{state.name} is defined here"),))


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A leaf that is an instance of a plain dataclass."""
    for leaf in trace.leaves:
        if leaf.held == "invalid" and leaf.is_dataclass:
            message = f"{leaf.label} is a {leaf.python_type}, a plain dataclass, which {trace.jit} refuses"
            yield RULE.at(trace.at(leaf.made), message, field=leaf.path)
