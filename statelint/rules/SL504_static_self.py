"""A jitted method reads an attribute of a fixed `self` that changes later: the stale value stays in the program.

## What it does

Looks for a method that is jitted with `self` static (`static_argnums=0`), or that is jitted as a bound
method and kept (`self.step = jax.jit(self._step)`), and that reads an attribute which the class changes
outside its constructor, or which the file changes through a name of the object. A class with an `__eq__` or
`__hash__` of its own is left alone, since it may tell its values apart.

## What JAX does

`self` is hashed by its identity, so a changed attribute is no other key: the program that was compiled with the
old value runs on, and the result is wrong without a message. Measured: with `rate` changed from 0.1 to 0.5, the
method still computes with 0.1. And the cache keeps the object alive.

## Example

```python
class Trainer:
    def __init__(self, rate):
        self.rate = rate

    @functools.partial(jax.jit, static_argnums=0)
    def step(self, params):
        return params - self.rate * params

    def decay(self):
        self.rate *= 0.5
```

## Use instead

```python
class Trainer:
    def __init__(self, rate):
        self.rate = rate

    def step(self, params):
        return _step(params, self.rate)


@jax.jit
def _step(params, rate):
    return params - rate * params
```

## Fix safety

Advice: what changes has to become an argument, or the class a pytree.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Related, Severity
from statelint.model.callsites import StaleAttribute
from statelint.rules import Rule

RULE = Rule("SL504", "static-self", Severity.ERROR)


def in_source(stale: StaleAttribute) -> Iterator[Diagnostic]:
    """An attribute that the compiled program never reads again."""
    how = "as a bound method" if stale.bound else "with a static `self`"
    yield RULE.at(
        stale.at,
        f"`{stale.method}` is jitted {how} and reads `self.{stale.attribute}`, which {stale.changer} changes:"
        " the program goes on with the old value, and the result is wrong",
        field=stale.attribute,
        fix=Fix(safe=False, message=f"pass `{stale.attribute}` to a jitted function as an argument"),
        related=(
            Related(stale.changed, f"`{stale.attribute}` is changed here"),
            Related(stale.read, "it is read here"),
        ),
    )
