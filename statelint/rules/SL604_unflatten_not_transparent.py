"""A class converts or checks its leaves each time JAX puts it together.

## What it does
Looks at classes that JAX unflattens through their constructor: `tree_unflatten` that calls `cls(...)`,
`register_dataclass`, `flax.struct.dataclass` and `chex.dataclass` with a `__post_init__` or an `__init__` of their
own. There it looks for leaves that are converted (`jnp.asarray`), checked (an `assert` or `raise` on a shape, a
dtype or a type) or overwritten, and for a constructor that does not take the fields by their names.

## What JAX does
JAX does not only put arrays into a class. `jax.tree.map` puts in whatever its function returns, `jax.vmap` and
`jax.eval_shape` put in tracers, shapes and placeholders of other ranks. Measured: a constructor that asserts a
shape works under `jax.jit` and raises under `jax.tree.map(lambda x: None, boxes)`; one that overwrites a leaf
never gives back what `jax.tree.map` put in; one that does not take the fields by name fails at the first
unflatten of a registered dataclass.

## Example
```python
@jax.tree_util.register_pytree_node_class
class Boxes:
    def __init__(self, corners):
        assert corners.ndim == 2
        self.corners = corners

    def tree_flatten(self):
        return (self.corners,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
```

## Use instead
```python
    @classmethod
    def tree_unflatten(cls, aux, children):
        boxes = object.__new__(cls)
        (boxes.corners,) = children
        return boxes
```

or check and convert in a function beside the class (`Boxes.from_corners(...)`), which JAX never calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.registrations import PytreeRegistration
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL604", "unflatten-not-transparent", Severity.WARNING)


def in_source(registration: PytreeRegistration) -> Iterator[Diagnostic]:
    """What the constructor does to leaves when JAX unflattens the class through it."""
    for each in registration.disturbances:
        message = (
            f"{registration.constructor} {each.does} {each.leaf}, and JAX unflattens through it: {_THEN[each.does]}"
        )
        yield RULE.at(each.at, message, field=each.leaf)


_THEN = {
    "converts": "a placeholder or a shape in its place raises, or is lost",
    "checks": "jax.tree.map to another shape, or to None, raises",
    "overwrites": "what jax.tree.map puts there is lost",
    "does not take": "unflatten raises a TypeError",
}


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Classes that refuse a placeholder in a leaf's place, or put something else there."""
    for fault in trace.classes:
        if fault.fault == "raises":
            message = f"{fault.owner} refuses leaves that are no arrays when JAX puts it together: {fault.error}"
            yield RULE.at(trace.at(fault.at), message, field=fault.path)
        elif fault.fault == "converts":
            message = (
                f"{fault.owner} puts other leaves in place of those that JAX puts it together with, outside of any jit:"
                f" what that compiles is not among the {trace.jit} executables"
            )
            yield RULE.at(trace.at(fault.at), message, field=fault.path)
