"""A leaf of the state is nothing that jit takes: a string, a set, a plain dataclass, a mapping JAX does not know.

## What it does
Finds leaves that are neither arrays nor numbers. JAX flattens only the containers it knows: `dict`, `list`, `tuple`,
namedtuples, `None` and registered classes. Everything else is one leaf, whatever is inside it: a `MappingProxyType`, a
`UserDict`, a subclass of `dict`, a `deque`, a `set`, a dataclass that nobody registered.

The source shows the plain cases: a field of a state class that is annotated as a text or a set and not marked
static, and what is given one of these, or of those mappings and dataclasses, where a class or dict is built. A text in
a dict tells that the dict is a record and no state, except in what a function returns that builds the first state.

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
from statelint.model.source import Kind, StateClass, StateValue
from statelint.model.trace import StepTrace
from statelint.model.wording import brief
from statelint.rules import Rule

RULE = Rule("SL105", "invalid-leaf", Severity.ERROR)


def in_source(part: StateClass | StateValue) -> Iterator[Diagnostic]:
    """What is no leaf, by its declaration or where a state is built; equinox holds it static."""
    if isinstance(part, StateClass):
        for field in part.own_fields:
            is_leaf = part.is_state and part.framework == "jax" and not field.static
            if (
                is_leaf
                and field.kind in _INVALID
                and "None" not in field.annotation
                and "Optional" not in field.annotation
            ):
                message = f"{field.name} is a leaf annotated as a {field.kind.value}, which jax.jit refuses"
                yield RULE.at(field.at, message, field=field.name)
    elif part.is_state and part.framework == "jax":
        for item in part.items:
            declared = item.field is not None and item.field.kind in _INVALID
            if item.value.refused and not item.is_static and not declared:
                message = f"{item.label} is a leaf that is given {item.value.refused} {brief(item.value.text)}"
                yield RULE.at(item.value.at, f"{message}, which jax.jit refuses", field=item.path)


_INVALID = (Kind.STRING, Kind.SET)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A leaf that the jit refuses."""
    for leaf in trace.leaves:
        if leaf.held == "invalid" and not leaf.is_dataclass:
            message = f"{leaf.label} is a leaf of type {leaf.python_type} ({leaf.value}), which jax.jit refuses"
            yield RULE.at(trace.at(leaf.made), message, field=leaf.path)
