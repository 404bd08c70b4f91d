"""The state that comes out of the step has another treedef than the one that went in.

## What it does
Compares the two treedefs by path: keys that come or go, a list for a tuple, a dict for a FrozenDict, `None`
where an array will be, one namedtuple class for another with the same fields.

In the source it looks at steps that stand beside their first state: the carry of a `lax` loop, `state =
step(state, ...)`, `(init, update)` given to one call, `reset` and `step` of one class. It follows names,
`replace`, dicts and helpers of the same file, and is silent about what it cannot follow.

## What JAX does
The treedef is part of the key of jit's cache: a plain loop compiles once more at call 2, and again whenever
the structure changes. `lax.scan` and `lax.while_loop` refuse such a carry, and a checkpoint of one structure
does not restore into the other. `None` and `()`, `None` and an array, `dict` and `FrozenDict`, two namedtuple
classes with the same fields are all different.

## Example
```python
def init(params):
    return {"params": params, "grad_norm": None}


def step(state, grads):
    return {"params": ..., "grad_norm": optax.global_norm(grads)}
```

## Use instead
Start with what the step gives back:

```python
def init(params):
    return {"params": params, "grad_norm": jnp.zeros((), jnp.float32)}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Related, Severity
from statelint.model.trace import StepTrace
from statelint.model.turns import Turn
from statelint.rules import Rule

RULE = Rule("SL301", "treedef-drift", Severity.ERROR)


def in_source(turn: Turn) -> Iterator[Diagnostic]:
    """What the step surely adds, drops, or gives another type of node."""
    for change in turn.changes:
        if change.aspect != "structure":
            continue
        if change.before is None:
            what = f"{turn.step} adds {change.label}, which the first state has not"
        elif change.after is None:
            what = f"{turn.step} drops {change.label}"
        else:
            what = f"{change.label} goes into {turn.step} as {change.before} and comes out as {change.after}"
        related = (Related(change.made, "the first state has it from here"),) if change.made is not None else ()
        message = f"{what}: {turn.cost()}"
        yield RULE.at(change.at, message, field=change.path, related=related)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A place at which the two treedefs differ."""
    for change in trace.structure:
        if change.before is None:
            what = f"the step adds {change.label} ({change.after})"
        elif change.after is None:
            what = f"the step drops {change.label} ({change.before})"
        else:
            what = f"{change.label} goes into call {change.call} as {change.before} and comes out as {change.after}"
        yield RULE.at(trace.at(change.produced), f"{what}: {trace.cost(change.path)}", field=change.path)
