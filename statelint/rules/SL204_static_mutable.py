"""A list, dict or set in a static field.

## What it does

Looks for static fields that are annotated as a list, dict or set, or that are given one as their default
or where the class is built.

## What JAX does

The treedef's hash leaves aux data out and only `==` counts, so an unhashable static field works, at
first. But the treedef that JAX keeps holds the same list. When it is changed in place, the new state
equals the old one, the program that was traced for the old contents runs, and the result is wrong without
a message.

## Example

```python
@flax.struct.dataclass
class Model:
    weights: jax.Array
    sizes: list = flax.struct.field(pytree_node=False)
```

## Use instead

```python
@flax.struct.dataclass
class Model:
    weights: jax.Array
    sizes: tuple[int, ...] = flax.struct.field(pytree_node=False)
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.source import Kind, StateClass, StateValue
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL204", "static-mutable", Severity.ERROR)

INSTEAD = {
    Kind.LIST: "a tuple",
    Kind.SET: "a frozenset",
    Kind.DICT: "a tuple of pairs, or a frozen mapping that hashes",
}


def in_source(part: StateClass | StateValue) -> Iterator[Diagnostic]:
    """Static fields that hold something mutable by their declaration, or that are given it."""
    if isinstance(part, StateClass):
        for field in part.own_fields:
            given = field.default.kind if field.default is not None else Kind.UNKNOWN
            kind = field.kind if field.kind.is_mutable else given
            if field.static and kind.is_mutable:
                message = f"{field.name} is a static {kind.value}: changed in place, the stale program runs"
                yield RULE.at(field.at, message, field=field.name, fix=_fix(kind))
    else:
        for item in part.items:
            kind = item.value.kind
            declared = item.field is not None and item.field.holds(lambda kind: kind.is_mutable)
            if item.is_static and kind.is_mutable and not declared:
                message = f"{item.label} is static, given a {kind.value}: the stale program runs after a change"
                yield RULE.at(item.value.at, message, field=item.path, fix=_fix(kind))


def _fix(kind: Kind) -> Fix:
    return Fix(safe=False, message=f"make it {INSTEAD[kind]}")


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Mutable values in static fields."""
    for static in trace.statics:
        if static.kind == "mutable":
            message = f"{static.label} is a static {static.type}: changed in place, the stale program runs"
            yield RULE.at(trace.at(static.declared, static.made), message, field=static.path)
