"""A leaf of the state is nothing that jit takes: a string, a set, a plain dataclass, a mapping JAX does not know.

## What it does
Finds leaves that are neither arrays nor numbers. JAX flattens only the containers it knows: `dict`, `list`, `tuple`,
namedtuples, `None` and registered classes. Everything else is one leaf, whatever is inside it: a `MappingProxyType`, a
`UserDict`, a subclass of `dict`, a `deque`, a `set`, a dataclass that nobody registered.

## What JAX does
`jax.jit` raises a TypeError at the first call. Under `equinox.filter_jit` such a leaf is static instead, and this
rule says nothing.

## Example
```python
def create_state():
    return {"params": {"w": jnp.ones(3)}, "optimizer": "adam"}
```

## Use instead
Keep beside the state what is no array, or hold it in a static field of a registered class:

```python
@jax.tree_util.register_dataclass
@dataclasses.dataclass
class TrainState:
    params: dict
    optimizer: str = dataclasses.field(metadata={"static": True})
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL105", "invalid-leaf", Severity.ERROR)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A leaf that the jit refuses."""
    for leaf in trace.leaves:
        if leaf.held == "invalid":
            message = f"{leaf.label} is a leaf of type {leaf.python_type} ({leaf.value}), which jax.jit refuses"
            yield RULE.at(trace.at(leaf.made), message, field=leaf.path)
