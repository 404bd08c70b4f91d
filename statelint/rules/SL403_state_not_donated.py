"""A jitted step takes a state, returns it, and donates nothing.

## What it does

Looks for a function that is jitted and named like a step, that takes a state and returns it, under a jit that
names no donated arguments. Pedantic: donation deletes the state that was given, which a program has to be
written for.

## What JAX does

Without donation, the old state and the new one are in memory at once. With it, each output takes over the
buffer of an input with as many elements: Adam over `f32[512, 512]` weights and a `f32[512]` bias keeps
3,151,876 bytes of parameters and moments once instead of twice.

## Example

```python
@jax.jit
def train_step(state, batch):
    ...
    return state.replace(params=params)
```

## Use instead

```python
@functools.partial(jax.jit, donate_argnames="state")
def train_step(state, batch):
    ...
    return state.replace(params=params)


state = train_step(state, batch)
```

## Fix safety

Advice: whoever reads the old state after the call has to be changed too (SL402).
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.callsites import JitSite
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL403", "state-not-donated", Severity.INFO, default=False)


def in_source(site: JitSite) -> Iterator[Diagnostic]:
    """A step that could reuse the buffers of its state."""
    if site.state is None or site.defined is None or site.donates:
        return
    keyword = 'donate="all"' if site.framework == "equinox" else f'donate_argnames="{site.state}"'
    yield RULE.at(
        site.defined,
        f"`{site.wrapped}` takes `{site.state}` and returns it, and donates nothing: both are in memory at once",
        field=site.state,
        fix=Fix(safe=False, message=f"give the jit `{keyword}`, and bind the result to the state's own name"),
    )


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A jitted step that donates nothing of its state."""
    if trace.donates is False:
        size = sum(leaf.nbytes for leaf in trace.leaves if leaf.held in ("array", "key"))
        message = f"the step takes a state of {size:,} bytes and returns it, and donates nothing"
        yield RULE.at(trace.at(trace.step), f"{message}: both are in memory at once")
