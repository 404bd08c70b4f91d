"""A Python int or float as a leaf of a state.

## What it does

Looks for literal numbers, and names that stand for one, among the leaves of a value that is a state.
Counters that start from zero are SL101's; bools are strongly typed and are left alone; so is what equinox
holds static.

## What JAX does

A Python int or float is a weakly typed leaf. The executable that was compiled for it does not fit a
strongly typed leaf of the same dtype: the step, or a restored checkpoint, that brings one costs one more
executable. Inside `lax.scan` a carry that goes in weak and comes out strong is promoted once; two such
carries that depend on each other are refused. A Python leaf is never donated.

## Example

```python
state = EnvState(position=jnp.zeros(3), reward=0.0)
```

## Use instead

```python
state = EnvState(position=jnp.zeros(3), reward=jnp.zeros((), jnp.float32))
```

## Fix safety

Not safe to apply unseen: a strongly typed float32 scalar takes part in type promotion where a Python
float does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.paths import label
from statelint.model.source import Expression, Kind, StateClass, StateValue
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL102", "python-scalar-leaf", Severity.WARNING)

DTYPES = {Kind.INT: "int32", Kind.FLOAT: "float32"}


def in_source(part: StateValue | StateClass) -> Iterator[Diagnostic]:
    """Numbers among the leaves of a state."""
    if not part.is_state or part.framework != "jax":
        return
    if isinstance(part, StateValue):
        for item in part.items:
            if not item.is_static and not (item.counter and item.value.starts_count):
                yield from _check(item.value, item.path)
    else:
        for field in part.own_fields:
            if field.default is not None and not field.static and not (field.counter and field.default.starts_count):
                yield from _check(field.default, field.name)


def _check(value: Expression, path: str) -> Iterator[Diagnostic]:
    dtype = DTYPES.get(value.kind)
    if dtype is not None:
        yield RULE.at(
            value.at,
            f"{label(path)} is the Python {value.kind.value} {value.text}, a weak leaf: "
            f"one more executable when a strong {dtype} comes",
            field=path,
            fix=Fix(safe=False, message=f"write `jnp.asarray({value.text}, jnp.{dtype})`"),
        )


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Python numbers among the leaves, weak all along."""
    for leaf in trace.leaves:
        is_counter = leaf.counter and leaf.python_type == "int"
        if leaf.held == "python" and leaf.is_stably_weak and not is_counter:
            message = f"{leaf.label} is a Python {leaf.python_type}, a weak leaf: {trace.restore_cost}"
            yield RULE.at(trace.at(leaf.made), message, field=leaf.path)
