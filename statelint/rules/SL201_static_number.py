"""A number or bool in a static field of a state.

## What it does

Looks at the static fields (`pytree_node=False`, `static=True`, `meta_fields`) that a state class declares
as `int`, `float` or `bool`. Names of sizes (`num_layers`, `hidden_dim`, `max_length` ...) are left alone,
since shapes depend on them and they must be static. So are functions, strings, optax transforms,
`apply_fn` and `tx`.

## What JAX does

A static field is part of the treedef, and each value of it has an executable of its own: 5 values, 5
traces. It is never donated. And it compares by `==`, so `1`, `1.0` and `True` share one executable:
`int32 * 1` gave float32 where the program had first been traced with a static `1.0`.

## Example

```python
@flax.struct.dataclass
class TrainState:
    params: Any
    dropout_rate: float = flax.struct.field(pytree_node=False)
```

## Use instead

```python
@flax.struct.dataclass
class TrainState:
    params: Any
    dropout_rate: jax.Array
```

If the value never changes while the program runs, it belongs to the configuration and not to the state.

## Fix safety

Unsafe: the number becomes a leaf, so that it is traced. `if` on it, or a shape that depends on it, no longer works
in the step. Where the mark stands at the field, the fix takes it away and annotates `jax.Array`. A bool is left as it
is, since a flag is there to be branched on: use `jnp.where` or `lax.cond` in the step, or keep it out of the state.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.source import Kind, StateClass, StateField
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL201", "static-number", Severity.WARNING)

ADVICE = Fix(safe=False, message="make it an array leaf, or keep it out of the state if it never changes")


def in_source(cls: StateClass) -> Iterator[Diagnostic]:
    """Static numbers that a state class declares."""
    for field in cls.own_fields if cls.is_state else ():
        kind = _kind(field)
        if field.static and kind.is_number and not field.resizes:
            message = f"{field.name} is a static {kind.value}: one executable for each value, and never donated"
            # A flag is there to be branched on, which no leaf allows.
            edits = field.as_data if kind is not Kind.BOOL else ()
            yield RULE.at(field.at, message, field=field.name, fix=replace(ADVICE, edits=edits))


def _kind(field: StateField) -> Kind:
    if field.kind is Kind.UNKNOWN and field.default is not None:
        return field.default.kind
    return field.kind


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Static numbers of a state class, as far as the step leaves them alone."""
    for static in trace.statics:
        if static.kind == "number" and static.in_state and not static.resizes and not static.changed:
            message = (
                f"{static.label} is a static {static.type} ({static.value}):"
                " one executable for each value, and never donated"
            )
            yield RULE.at(trace.at(static.declared, static.made), message, field=static.path, fix=ADVICE)
