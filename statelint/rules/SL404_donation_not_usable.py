"""The step donates a leaf whose buffer no output can reuse.

## What it does
Pairs the buffers of the state that a jitted step donates with the step's outputs, as XLA does: an output of the
same shape and dtype first, then one of the same number of bytes. What is left over is reported with its bytes.
With `--compile` the compiled program says how many bytes it reuses: that figure is told beside the first, and where
it is smaller, by itself.

## What JAX does
The donated buffer is gone after the call, and yet the step holds old and new at once: memory that donation was to
save. JAX warns `Some donated buffers were not usable` once, when the step is first lowered, by shape and not by
name. Measured: a donated `float32[1024]` that comes back as `bfloat16[1024]` is not among the program's
alias bytes, and neither is a donated array that goes in sharded over four devices and comes out whole on each.
Python and NumPy leaves are never donated, and never warned about.

## Example
```python
@functools.partial(jax.jit, donate_argnums=0)
def step(state, gradient):
    mu = 0.9 * state["mu"] + gradient
    return {"params": state["params"] - 0.1 * mu, "mu": mu.astype(jnp.bfloat16)}
```

## Use instead
Give the leaf back as it came, or start with the dtype that the step gives back:

```python
    return {"params": state["params"] - 0.1 * mu, "mu": mu}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL404", "donation-not-usable", Severity.WARNING)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Donated arrays that nothing reuses, and what the compiled program reuses where it was asked."""
    compiled = trace.compiled_donation
    for leaf in trace.leaves:
        if leaf.lost is not None and leaf.held in ("array", "key"):
            said = f"; {compiled.described}" if compiled else ""
            message = f"{leaf.label}, {leaf.nbytes:,} bytes, is donated and cannot be reused: {leaf.lost}{said}"
            yield RULE.at(trace.at(leaf.produced, leaf.made), message, field=leaf.path)
    if compiled and compiled.reused < compiled.promised:
        message = f"{compiled.described}, where shapes and dtypes promise {compiled.promised:,}"
        yield RULE.at(trace.at(trace.step), message)
