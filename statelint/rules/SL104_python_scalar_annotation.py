"""A data field of a pytree class is annotated `int` or `float`.

## What it does
Looks at the fields of classes that JAX flattens, and reports data fields whose annotation is a Python number. It is
pedantic and does not run unless it is selected.

## What JAX does
Annotations are not checked. Inside a step the field holds a tracer, and after it an array, whatever the annotation
says. It invites a Python number where the class is built, which is a weakly typed leaf: one more executable when a
strongly typed value comes from a step or a checkpoint.

## Example
```python
@struct.dataclass
class AverageState:
    mean: jax.Array
    count: int
```

## Use instead
```python
@struct.dataclass
class AverageState:
    mean: jax.Array
    count: jax.Array
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.source import Kind, StateClass
from statelint.rules import Rule

RULE = Rule("SL104", "python-scalar-annotation", Severity.INFO, default=False)


def in_source(cls: StateClass) -> Iterator[Diagnostic]:
    """Data fields that are annotated as Python numbers."""
    if cls.holds_leaves and cls.framework == "jax":
        for field in cls.own_fields:
            if not field.static and field.kind in (Kind.INT, Kind.FLOAT):
                message = f"{field.name} is a leaf annotated `{field.annotation}`: inside a step it is an array"
                yield RULE.at(field.at, message, field=field.name)
