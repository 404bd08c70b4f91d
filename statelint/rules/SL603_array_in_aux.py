"""An array in the aux data of a registered class.

## What it does
Looks at what `tree_flatten` returns beside the children, and reports attributes in it that hold an array: by their
annotation, or because `__init__` makes one there.

## What JAX does
Aux data is part of the treedef, which is compared by `==`. An array answers with an array of bools, whose truth is
ambiguous: the first call works, a later one with another array raises a ValueError. It passes while it is the very
same array, and when it has one element.

## Example
```python
@jax.tree_util.register_pytree_node_class
class Filter:
    def __init__(self, signal, taps):
        self.signal = signal
        self.taps = np.asarray(taps)

    def tree_flatten(self):
        return (self.signal,), self.taps
```

## Use instead
Make it a child. A table that shapes depend on can be a tuple of numbers, which compares and hashes:

```python
    def tree_flatten(self):
        return (self.signal, self.taps), None
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.registrations import PytreeRegistration
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL603", "array-in-aux", Severity.ERROR)


def in_source(registration: PytreeRegistration) -> Iterator[Diagnostic]:
    """Arrays that are flattened into aux data."""
    for each in registration.aux_arrays:
        message = f"{each.attribute} is an array in aux data: a later call with another array raises"
        yield RULE.at(each.at, message, field=each.attribute)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Arrays in the aux data of nodes."""
    for static in trace.statics:
        if static.kind == "array" and static.is_aux:
            tail = "a call with another array raises" if static.comparable else trace.cost(static.path)
            message = f"the aux data of {static.owner} holds an array, which jit compares by `==`: {tail}"
            yield RULE.at(trace.at(static.declared, static.made), message, field=static.path)
