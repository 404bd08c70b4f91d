"""A checkpoint is restored with nothing to say what its containers were.

## What it does
Finds calls that read a state back without a target: flax's `msgpack_restore` and `restore_checkpoint(dir, None)`,
and orbax checkpointers' `restore(path)` with no item, target or arguments. It speaks where the result is a
state by its name and nothing in the file puts it back into one (`from_state_dict`).

## What JAX does
A checkpoint holds names and arrays, and no classes. Measured with flax's msgpack: a NamedTuple that holds a tuple
comes back with another treedef. The step was compiled for the first one: at best it compiles once more, mostly the
first attribute that is read raises.

## Example
```python
state = checkpointer.restore(path)
```

## Use instead
```python
state = checkpointer.restore(path, target=jax.eval_shape(create_state))
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.turns import Restore
from statelint.rules import Rule

RULE = Rule("SL701", "restore-without-target", Severity.WARNING)


def in_source(restore: Restore) -> Iterator[Diagnostic]:
    """A state that is read back as whatever the checkpoint makes of it."""
    message = f"{restore.target} is restored by {restore.call} without a target: its containers come back as others"
    yield RULE.at(restore.at, message)
