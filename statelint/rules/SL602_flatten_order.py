"""Flatten and unflatten of a class disagree about which child is which.

## What it does
Follows each child of a registered class from the attribute that flatten takes it from, by its position, to the
attribute that unflatten puts it in, and reports those that end elsewhere.

## What JAX does
Children have no names: JAX hands them back in the order in which it was given them. Where the two orders differ,
every flatten and unflatten swaps the leaves, and nothing says so. Measured: inside a jitted function
`moments.mean` is the variance. What the function gives back is swapped again, so that the outside looks right and
the numbers are wrong.

## Example
```python
@jax.tree_util.register_pytree_node_class
class Moments:
    def __init__(self, mean, variance):
        self.mean, self.variance = mean, variance

    def tree_flatten(self):
        return (self.variance, self.mean), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)
```

## Use instead
```python
    def tree_flatten(self):
        return (self.mean, self.variance), None
```

or `jax.tree_util.register_dataclass`, which has no order to get wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.registrations import PytreeRegistration
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL602", "flatten-order", Severity.ERROR)


def in_source(registration: PytreeRegistration) -> Iterator[Diagnostic]:
    """Children that are put where another one was taken from."""
    taken = {child.flattened for child in registration.children}
    for child in registration.children:
        if child.flattened != child.unflattened and child.unflattened in taken:
            message = f"{child.flattened} is flattened as a child that is unflattened into {child.unflattened}"
            yield RULE.at(child.at, f"{message}: the leaves change places", field=child.flattened)
            return


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Classes that give their leaves back in another order."""
    for fault in trace.classes:
        if fault.fault == "reorders":
            message = f"{fault.owner} gives its leaves back in another order: each flatten and unflatten swaps them"
            yield RULE.at(trace.at(fault.at), message, field=fault.path)
