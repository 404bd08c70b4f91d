"""A state holds raw PRNG keys and typed ones.

## What it does
Compares the keys of the state that goes into a step with those that come out: `jax.random.PRNGKey` and
`jax.random.key_data` make raw keys, `jax.random.key` and `jax.random.wrap_key_data` typed ones. Two keys of both
kinds side by side in one state are advice, once a probe sees that the raw one is used as a key.

## What JAX does
A raw key is an array `uint32[2]`, a typed one `key<fry>[]`. They are different avals: a plain loop compiles once
more, `lax.scan` refuses the carry, and a checkpoint of one does not restore into the other. `jax.random`
functions take both, so nothing else tells. Side by side they cost no executable, and yet want to be saved and
compared in two ways: measured, `np.asarray` and `==` with an array take the raw one and refuse the typed one.

## Example
```python
state = {"key": jax.random.PRNGKey(0), "w": w}


def step(state):
    return {"key": jax.random.key(1), "w": ...}
```

## Use instead
One kind throughout; new code uses `jax.random.key`.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Related, Severity
from statelint.model.trace import StepTrace
from statelint.model.turns import Turn
from statelint.rules import Rule

RULE = Rule("SL702", "mixed-key-kinds", Severity.ERROR)


def in_source(turn: Turn) -> Iterator[Diagnostic]:
    """A key that comes out of the step as another kind."""
    for change in turn.changes:
        if change.aspect == "key kind":
            before, after = _kind(change.before), _kind(change.after)
            what = f"{change.label} goes into {turn.step} as a {before} and comes out as a {after}"
            related = (Related(change.made, "it is made here"),) if change.made is not None else ()
            yield RULE.at(change.at, f"{what}: {turn.cost()}", field=change.path, related=related)


def _kind(key: str | None) -> str:
    return "typed key" if key == "key" else "raw key"


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """A key that comes out of a call as another kind, and keys of both kinds in the state."""
    drifts = False
    for leaf in trace.leaves:
        if (drift := leaf.drift) is not None and drift.cause == "key kind":
            where = trace.at(leaf.produced, leaf.made)
            drifts = True
            yield RULE.at(where, f"{leaf.label} {drift}: {trace.cost(leaf.path)}", field=leaf.path)
    raw = [leaf for leaf in trace.leaves if leaf.raw_key and leaf.library is None]
    typed = [leaf for leaf in trace.leaves if leaf.held == "key"]
    if raw and typed and not drifts:
        first, other = raw[0], typed[0]
        related = (Related(other.made, "the typed one is made here"),) if other.made else ()
        message = f"{first.label} is a raw key and {other.label} a typed one: keep one kind, by jax.random.key"
        where = trace.at(first.placed, first.made)
        yield RULE.at(where, message, field=first.path, severity=Severity.INFO, related=related)
