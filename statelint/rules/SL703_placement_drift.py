"""A leaf comes back at another place than it went in: committed to a device where it was not, or sharded otherwise.

## What it does
Reads where the arrays of the state are: from the arrays themselves, from placeholders with a sharding, or from the
`jax.device_put` of the factory. Then it follows them: one committed input commits every output, and so does a
sharding that the step names (`with_sharding_constraint`, `out_shardings`, `shard_map`). With axes of type `Explicit`
JAX itself says where each output goes. With `Auto` the compiler chooses, and only `--compile` can tell: without it,
a leaf is taken to stay where it was.

## What JAX does
The sharding of each array, and whether it is committed, are part of the key of jit's cache. Measured: a step that
is given one array committed to a device and one uncommitted compiles again at call 2, without a second trace, and
`jax.explain_cache_misses` says nothing of it. A mesh is part of the aval: an array that comes onto one is traced
again, too, and even one that the step does not read, such as the loss of the last step, costs a second executable.
So does a step whose parameters live on a mesh while its counter is
an ordinary scalar: after call 1 the counter is on the mesh, too. And so does a step whose moments are replicated
while its params are sharded, once the compiler shards the moments like the params.

## Example
```python
state = {"params": jax.device_put(params, sharding), "step": jnp.zeros((), jnp.int32)}
```

## Use instead
Place the whole state:

```python
state = {"params": jax.device_put(params, sharding), "step": jax.device_put(jnp.zeros((), jnp.int32), replicated)}
```

or build it in a jitted function with `out_shardings`; without a mesh, place nothing. Where a
checkpoint is restored by a library that commits what it brings back, as orbax does (`--restore orbax` shows it),
commit the first state as well: `jax.device_put(state, jax.devices()[0])`.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL703", "placement-drift", Severity.WARNING)

COMMIT = Fix(False, "commit the first state, too: `jax.device_put(state, jax.devices()[0])` where it is made")


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Leaves that move: one finding for all, at the first of them."""
    moved = [leaf for leaf in trace.leaves if leaf.moves]
    if moved:
        first, move = moved[0], moved[0].moves[0]
        more = len(moved) - 1
        others = f", and so do {more} other leaves" if more > 1 else ", and so does another leaf" if more else ""
        what = f"{first.label} goes into call {move.call} {move.before} and comes out {move.after}{others}"
        # What had a place is moved by the step; what had none was left without one where the state is made.
        is_left = move.before == "uncommitted"
        places = (first.placed, first.made) if is_left else (first.produced, first.placed, first.made)
        by = ", as XLA compiles it" if trace.compiled and not is_left else ""
        yield RULE.at(trace.at(*places), f"{what}{by}: {trace.cost(first.path)}", field=first.path)
    # A checkpoint that is restored for real may commit what was free.
    restored = [
        extra for extra in trace.extras if extra.call is None and extra.is_move and extra.before == "uncommitted"
    ]
    if restored and not moved:
        message = f"a restore brings {restored[0].label} back {restored[0].after}, where it was uncommitted"
        yield RULE.at(trace.at(restored[0].at), f"{message}: one more executable", field=restored[0].path, fix=COMMIT)
