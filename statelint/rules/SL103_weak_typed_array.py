"""A weakly typed array as a leaf of a state.

## What it does

Looks for arrays that are made of Python numbers alone, without a dtype, and put into a state or any other
pytree class: `jnp.asarray(0.0)`, `jnp.full(shape, 1.0)`, `jnp.where(done, 1.0, 0.0)`, `jnp.stack([1.0,
2.0])`, `jnp.zeros_like(0)` ... A name is followed to the one expression that it stands for.

## What JAX does

Such an array carries a weak type: it is `float32[]` in print and another aval to `jax.jit`. A step that
gives back a strong float32 in its place is compiled a second time at call 2, and a chain of n such leaves
compiles once for each call until all are strong. `lax.scan` refuses the carry when two or more weak
leaves depend on each other. A restored checkpoint is strong, and costs one more executable too.

Not weak: `jnp.array([0.0])`, `jnp.zeros(n)`, `jnp.float32(0)`, NumPy scalars, anything with a dtype.

## Example

```python
state = SimulatorState(position=jnp.zeros(3), time=jnp.array(0.0))
```

## Use instead

```python
state = SimulatorState(position=jnp.zeros(3), time=jnp.zeros((), jnp.float32))
```

## Fix safety

Not safe to apply unseen: a strong float32 promotes a bfloat16 or float16 array that it meets, a weak one
does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.paths import label
from statelint.model.source import Expression, StateClass, StateValue
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL103", "weak-typed-array", Severity.WARNING)

FIX = Fix(safe=False, message="give it a dtype: `dtype=jnp.float32`")


def in_source(part: StateValue | StateClass) -> Iterator[Diagnostic]:
    """Weak arrays among the leaves."""
    if isinstance(part, StateValue):
        for item in part.items:
            if item.value.weak and not item.is_static:
                yield _finding(item.value, item.path)
    else:
        for field in part.own_fields:
            if field.default is not None and field.default.weak and not field.static:
                yield _finding(field.default, field.name)


def _finding(value: Expression, path: str) -> Diagnostic:
    message = f"{label(path)} is weakly typed: {value.text} has no dtype; a strong leaf is one more executable"
    return RULE.at(value.at, message, field=path, fix=FIX)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Weak arrays among the leaves, weak all along."""
    for leaf in trace.leaves:
        if leaf.held == "array" and leaf.is_stably_weak:
            message = f"{leaf.label} is a weakly typed {leaf.aval}: {trace.restore_cost}"
            yield RULE.at(trace.at(leaf.made), message, field=leaf.path, fix=FIX)
