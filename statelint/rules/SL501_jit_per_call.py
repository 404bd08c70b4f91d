"""A function is jitted anew each time, so that jit never finds what it compiled.

## What it does

Looks for a jit that is given a new object each time: a lambda, a `functools.partial`, `jax.grad(f)` or
another transformed function, a bound method, a function defined on the spot. It reports this in a loop, in a step,
and where the jitted function is called at once in a function that may be called again. What is kept is left
alone: returned, passed on, put on `self` or in a container, made before the loop that calls it, cached by
`functools.cache`, jitted at module level. So are tests, functions that build something once, and what runs
under a trace, where the inner jit adds nothing.

It also reports `lax.scan`, `cond`, `switch`, `while_loop`, `fori_loop` and `map` with such a function in a
Python loop that surely runs outside any jit.

## What JAX does

The cache of `jax.jit` knows a function by the object. Measured, four calls each:

| jitted at each call | executables |
|---|---|
| `jax.jit(f)`, `f` a function of the module | 1 |
| `jax.jit` of a lambda, `partial(f, k)`, `tree_util.Partial(f, k)` | 4 |
| `jax.jit` of `jax.grad(f)`, `jax.vmap(f)`, `jax.checkpoint(f)`, `jax.jit(f)` | 4 |
| `jax.jit` of `obj.method`, of a function defined on the spot | 4 |
| `eqx.filter_jit` of a lambda, a `functools.partial`, `jax.grad(f)` | 4 |
| `eqx.filter_jit` of `f`, `obj.method`, `eqx.filter_grad(f)`, `tree_util.Partial(f, k)` | 1 |
| `nnx.jit` of anything, `f` too | 4 |
| `jax.pmap` as `jax.jit`, but of `obj.method` | 1 |
| `lax.scan` and its like outside a jit, with a lambda | 4 |

## Example

```python
for batch in batches:
    params = jax.jit(lambda p, b: p - rate * jax.grad(loss)(p, b))(params, batch)
```

## Use instead

```python
step = jax.jit(lambda p, b: p - rate * jax.grad(loss)(p, b))
for batch in batches:
    params = step(params, batch)
```

## Fix safety

Unsafe: what the function reads of the module is fixed at its first call. The fix jits it once, before the function in
which that is done, where all that it names is known there. Where it closes over what is local, make that an argument,
or jit where the program starts and keep the result.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.callsites import JitSite
from statelint.rules import Rule

RULE = Rule("SL501", "jit-per-call", Severity.ERROR)

_COSTS = {
    "loop": "it compiles at each turn of the loop",
    "step": "it compiles at each call of `{inside}`",
    "call": "it compiles again if `{inside}` is called again",
}


def in_source(site: JitSite) -> Iterator[Diagnostic]:
    """A site that is run anew with something jit does not know."""
    if site.again is None:
        return
    cost = _COSTS[site.again].format(inside=site.inside or "<lambda>")
    if site.wraps == "function":
        reason = f"`{site.jit}` makes a new function of `{site.wrapped}` each time"
    else:
        reason = f"`{site.wrapped}` is a new {site.wraps} each time"
        reason += " that runs outside a jit" if site.eager else f" that `{site.jit}` does not know"
    where = "the loop" if site.again == "loop" else f"`{site.inside}`" if site.inside else "the function"
    advice = (
        f"jit the function around {where}" if site.eager else f"jit once, outside {where}, and call the result there"
    )
    yield RULE.at(
        site.at,
        f"{reason}: {cost}",
        severity=Severity.WARNING if site.again == "call" else Severity.ERROR,
        fix=Fix(False, advice, site.outside),
    )
