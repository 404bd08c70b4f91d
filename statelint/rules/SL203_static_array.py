"""An array in a static field.

## What it does

Looks for static fields that are annotated as an array (`jax.Array`, `np.ndarray`, `chex.Array`,
jaxtyping's `Float[Array, "n"]`), or that are given one as their default or where the class is built.

## What JAX does

A static field is compared by `==` at every later call. An array gives an array of bools for an answer, and a
ValueError is raised: the first call works and a later one with another array does not, though it holds the same
numbers. It passes while the very same array object is handed in, and when the array has one element.

## Example

```python
@flax.struct.dataclass
class Model:
    weights: jax.Array
    grid: jax.Array = flax.struct.field(pytree_node=False)
```

## Use instead

```python
@flax.struct.dataclass
class Model:
    weights: jax.Array
    grid: jax.Array
```

A table that the structure of the program depends on can be a tuple of numbers, which compares and hashes.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.source import StateClass, StateValue
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL203", "static-array", Severity.ERROR)

FIX = Fix(safe=False, message="make it a leaf, or a tuple of numbers")


def in_source(part: StateClass | StateValue) -> Iterator[Diagnostic]:
    """Static fields that hold arrays by their declaration, or that are given one."""
    if isinstance(part, StateClass):
        for field in part.own_fields:
            if field.static and field.holds(lambda kind: kind.is_array):
                message = f"{field.name} is static and holds an array: a later call with another array raises"
                yield RULE.at(field.at, message, field=field.name, fix=FIX)
    elif part.cls is None or not part.cls.is_node:
        for item in part.items:
            declared = item.field is not None and item.field.holds(lambda kind: kind.is_array)
            if item.is_static and item.value.kind.is_array and not declared:
                message = f"{item.label} is static and is given an array: a later call with another array raises"
                yield RULE.at(item.value.at, message, field=item.path, fix=FIX)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Arrays in static fields."""
    for static in trace.statics:
        if static.kind == "array" and not static.is_aux:
            tail = "a call with another array raises" if static.comparable else trace.cost(static.path)
            message = f"{static.label} is static and holds an array, which jit compares by `==`: {tail}"
            yield RULE.at(trace.at(static.declared, static.made), message, field=static.path, fix=FIX)
