"""A weakly typed array as a leaf of a state.

## What it does

Looks for arrays that are made of Python numbers alone, without a dtype, and put into a state or any other
pytree class: `jnp.asarray(0.0)`, `jnp.full(shape, 1.0)`, `jnp.where(done, 1.0, 0.0)`, `jnp.stack([1.0,
2.0])`, `jnp.zeros_like(0)` ... A name is followed to the one expression that it stands for. A state is also what the
`__init__` of an `eqx.Module` sets, the value of an `nnx.Variable` or an `eqx.nn.StateIndex`, what `eqx.tree_at` puts
in, and what `hk.set_state` and the `init` of `hk.get_state` give.

## What JAX does

Such an array carries a weak type: it is `float32[]` in print and another aval to `jax.jit`. A step that
gives back a strong float32 in its place is compiled a second time at call 2, and a chain of n such leaves
compiles once for each call until all are strong. `lax.scan` promotes a weak carry once, so that of two that are
reckoned from each other it refuses one where dtypes change: weak float32 values that take up bfloat16 ones. A
restored checkpoint is strong, and costs one more executable too.

An int32 array that meets a Python float is a weak float32: `jnp.arange(n) * 1.0`.

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

Safe for a step counter where a state is built: an int32 changes no type of the floats that it meets. Unsafe
else: a strong float32 promotes a bfloat16 or float16 array that it meets, a weak one does not. The default of a
field is made anew for each value by a `default_factory`, except in a NamedTuple, which has none.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.paths import label
from statelint.model.source import Expression, StateClass, StateValue
from statelint.model.trace import StepTrace
from statelint.model.wording import brief
from statelint.rules import Rule

RULE = Rule("SL103", "weak-typed-array", Severity.WARNING)


def in_source(part: StateValue | StateClass) -> Iterator[Diagnostic]:
    """Weak arrays among the leaves."""
    if isinstance(part, StateValue):
        for item in part.items:
            if item.value.weak and not item.is_static:
                safe = item.counter and item.value.dtype == "int32"
                yield _finding(item.value, item.path, Fix(safe, _advice(item.value), item.value.with_dtype()))
    else:
        for field in part.own_fields:
            if field.default is not None and field.default.weak and not field.static:
                yield _finding(field.default, field.name, Fix(False, _advice(field.default), part.with_dtype(field)))


def _advice(value: Expression) -> str:
    return f"give it a dtype: `dtype=jnp.{value.dtype or 'float32'}`"


def _finding(value: Expression, path: str, fix: Fix) -> Diagnostic:
    message = f"{label(path)} is weakly typed: {brief(value.text)} has no dtype; a strong leaf is one more executable"
    return RULE.at(value.at, message, field=path, fix=fix)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Weak arrays among the leaves, weak all along."""
    for leaf in trace.leaves:
        if leaf.held == "array" and trace.is_weak_until_restored(leaf) and leaf.aval is not None:
            message = f"{leaf.label} is a weakly typed {leaf.aval}: {trace.restore_cost}"
            advice = Fix(False, f"give it a dtype: `dtype=jnp.{leaf.aval.dtype}`")
            yield RULE.at(trace.at(leaf.made), message, field=leaf.path, fix=advice)
