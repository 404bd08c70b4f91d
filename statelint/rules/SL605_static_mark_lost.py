"""A subclass declares a static field again and forgets the mark.

## What it does
Compares the fields of a pytree class with those of its bases, and reports a field that a base marks static and the
class declares again without the mark.

## What JAX does
The last declaration counts: the field is a leaf in the subclass. A shape or an axis in it becomes a tracer inside
`jax.jit`, and what needs it as a number (`reshape`, `jnp.zeros`) raises. A text in it is refused at the call.

## Example
```python
@struct.dataclass
class Grid:
    cells: jax.Array
    extent: tuple = struct.field(pytree_node=False, default=(2, 3))


@struct.dataclass
class Torus(Grid):
    extent: tuple = (4, 4)
```

## Use instead
```python
@struct.dataclass
class Torus(Grid):
    extent: tuple = struct.field(pytree_node=False, default=(4, 4))
```

## Fix safety
Unsafe: the field is no leaf any more, so that the treedef is another. The fix is made where the default stands bare.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity, wrap
from statelint.model.source import StateClass, StateField
from statelint.rules import Rule

RULE = Rule("SL605", "static-mark-lost", Severity.ERROR)


def in_source(cls: StateClass) -> Iterator[Diagnostic]:
    """Fields whose mark a base has and this class has not."""
    for field in cls.own_fields:
        if field.unmarked:
            message = f"{field.name} is static in a base of {cls.short_name} and a leaf here: the mark is lost"
            yield RULE.at(field.at, message, field=field.name, fix=_fix(cls, field))


def _fix(cls: StateClass, field: StateField) -> Fix:
    """The mark again; it can be written where the default stands bare."""
    mark = _MARKS.get(cls.flavour)
    is_bare = field.default is not None and field.default_keyword is None and not field.default_factory
    edits = wrap(field.default.at, f"{mark}, default=", ")") if mark and field.default and is_bare else ()
    return Fix(False, "mark it static here too", edits)


_FLAX = "{flax.struct}.field(pytree_node=False"
_MARKS = {
    "flax.struct.dataclass": _FLAX,
    "flax.struct.PyTreeNode": _FLAX,
    "flax TrainState": _FLAX,
    "equinox.Module": "{equinox}.field(static=True",
    "register_dataclass": "{dataclasses}.field(metadata=dict(static=True)",
}
