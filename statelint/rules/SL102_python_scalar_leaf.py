"""A Python int or float as a leaf of a state.

## What it does

Looks for literal numbers, and names that stand for one, among the leaves of a value that is a state.
Counters that start from zero are SL101's; bools are strongly typed and are left alone; so is what equinox
holds static.

## What JAX does

A Python int or float is a weakly typed leaf. The executable that was compiled for it does not fit a strongly typed
leaf of the same dtype: the step, or a restored checkpoint, that brings one costs one more executable. Inside
`lax.scan` a carry that goes in weak is promoted to what comes out, but only once: where one such carry is reckoned
from another, it is refused. A Python leaf is never donated. An int beyond 32 bits is no leaf at all: `jax.jit`
raises OverflowError at once, except under x64.

## Example

```python
state = EnvState(position=jnp.zeros(3), reward=0.0)
```

## Use instead

```python
state = EnvState(position=jnp.zeros(3), reward=jnp.zeros((), jnp.float32))
```

As the default of a dataclass's field: `dataclasses.field(default_factory=lambda: jnp.zeros((), jnp.float32))`.

## Fix safety

Unsafe: a strongly typed scalar takes part in type promotion where a Python number does not. A float32 makes a
float32 of a bfloat16 array that it meets, an int32 an int32 of a uint8 array. The default of a field is made anew
for each value by a `default_factory`, except in a NamedTuple, which has none.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Edit, Fix, Severity
from statelint.model.paths import label
from statelint.model.source import Expression, Kind, StateClass, StateValue
from statelint.model.trace import StepTrace
from statelint.model.wording import brief
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
                yield from _check(item.value, item.path, "`{}`", item.value.with_dtype())
    else:
        for field in part.own_fields:
            if field.default is not None and not field.static and not (field.counter and field.default.starts_count):
                yield from _check(field.default, field.name, part.advised(field, "{}"), part.with_dtype(field))


def _check(value: Expression, path: str, advice: str, edits: tuple[Edit, ...]) -> Iterator[Diagnostic]:
    """``advice`` has braces where the array is written."""
    dtype = DTYPES.get(value.kind)
    if dtype is None:
        return
    kind = value.kind.value
    what = f"the Python {kind} {brief(value.text)}" if value.is_literal else f"`{brief(value.text)}`, a Python {kind}"
    if value.overflows:
        message = f"{label(path)} is {what}, which no int32 holds: jax.jit raises OverflowError, except under x64"
        yield RULE.at(value.at, message, field=path, severity=Severity.ERROR)
    else:
        message = f"{label(path)} is {what}, a weak leaf: one more executable when a strong {dtype} comes"
        array = f"jnp.asarray({brief(value.text)}, jnp.{dtype})"
        yield RULE.at(value.at, message, field=path, fix=Fix(False, f"write {advice.format(array)}", edits))


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Python numbers among the leaves, weak all along."""
    for leaf in trace.leaves:
        is_counter = leaf.counter and leaf.python_type == "int"
        if leaf.held == "python" and trace.is_weak_until_restored(leaf) and not is_counter:
            message = f"{leaf.label} is a Python {leaf.python_type}, a weak leaf: {trace.restore_cost}"
            yield RULE.at(trace.at(leaf.made), message, field=leaf.path)
