"""A static argument is another value at each call, so each call is an executable.

## What it does

Looks at the calls of jitted functions of the same file for static arguments that surely change: the counter
of a `for` over `range` or `enumerate`, a name that the loop counts up, arithmetic on these, the time or a
random number, and in any loop a lambda or a partial, which never equals the last one. A counter of four turns or
fewer is left alone, and so are tests.

## What JAX does

The value of a static argument is part of the key of jit's cache. Measured: a loop of five turns that passes its
counter as a static argument compiles five times; as an ordinary argument, once.

## Example

```python
@functools.partial(jax.jit, static_argnames="step")
def update(params, step):
    return params * (1 - 0.1 / (1 + step))


for step in range(1000):
    params = update(params, step)
```

## Use instead

```python
@jax.jit
def update(params, step):
    return params * (1 - 0.1 / (1 + step))
```

## Fix safety

Advice: as an ordinary argument the value is traced. Python control flow over it, and shapes made of it, have to
become `jax.lax` control flow and masks.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.callsites import StaticArgument
from statelint.rules import Rule

RULE = Rule("SL502", "varying-static-argument", Severity.ERROR)


def in_source(argument: StaticArgument) -> Iterator[Diagnostic]:
    """A value that can be hashed, but is never the same."""
    if argument.varies is None or argument.kind.is_mutable or argument.kind.is_array:
        return
    name = f"`{argument.parameter}`" if argument.parameter else "this argument"
    yield RULE.at(
        argument.at,
        f"{name} is static in `{argument.function}`, and {argument.varies}: each value compiles",
        field=argument.parameter or None,
        fix=Fix(safe=False, message=f"let {name} be traced: take it out of the static arguments"),
    )
