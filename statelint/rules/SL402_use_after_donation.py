"""A value is read after a call was given its buffers.

## What it does

Follows every name, and every path such as `self.state` or `state.params`, that is passed where a jitted
function of the same file donates (`donate_argnums`, `donate_argnames`, equinox's `donate="all"`), and
reports where it is read before it is bound again: further down, in a branch, in a handler, in a function
that is called later, or at the next turn of a loop. Another name of the same value counts, as does a part
of it.

Under a trace nothing is donated, and Python and NumPy values never are: these are left alone, and so is what
looks no further than the aval (`x.shape`, `x.dtype`, `jax.eval_shape`, `jnp.zeros_like`).

## What JAX does

The call takes the buffers over, and every array that held one is deleted. Reading it raises
`Array has been deleted`; giving it to the jitted function again raises `Buffer has been deleted or donated`. The
shape and the dtype can still be asked for. An array that no output can take over is not deleted, but for a
warning of its own (SL404): whether one can is up to the shapes, so it is reported here all the same.

## Example

```python
train_step = jax.jit(update, donate_argnums=0)

new_state = train_step(state, batch)
change = jnp.abs(new_state["w"] - state["w"]).max()
```

## Use instead

```python
before = jnp.copy(state["w"])
state = train_step(state, batch)
change = jnp.abs(state["w"] - before).max()
```

Better still, compute it inside the step, which has both.

## Fix safety

Advice: bind the result to the same name, read before the call, or copy what is needed after it. A copy costs
its memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Related, Severity
from statelint.model.callsites import DonatedRead
from statelint.rules import Rule

RULE = Rule("SL402", "use-after-donation", Severity.ERROR)


def in_source(read: DonatedRead) -> Iterator[Diagnostic]:
    """Each place that reads what is gone."""
    given = f"`{read.donated}` is donated to `{read.function}`"
    if read.next_turn:
        message = f"{given} and not bound again before the next turn of the loop reads it: that raises"
    else:
        what = "it" if read.path == read.donated else f"`{read.path}`"
        message = f"{given} in line {read.call.line}, and {what} is read here: that raises `Array has been deleted`"
    yield RULE.at(
        read.at,
        message,
        fix=Fix(safe=False, message=f"bind the result to `{read.donated}`, or copy what is needed before the call"),
        related=(Related(read.call, f"`{read.donated}` is donated here"),),
    )
