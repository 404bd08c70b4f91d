"""A tree that mirrors the parameters (moments, a moving average, a target network) has other leaves or shapes.

## What it does
Compares the subtrees of the state that are called `mu`, `nu`, `momentum`, `velocity`, `ema...`, `average...` or
`target...` with the one that is called `params`: leaf by leaf, by path and shape. Dtypes may differ, a mirror may
be one of a part of the parameters or hold one number for each of them (NovoGrad), and what is masked out (`None`,
`optax.MaskedNode`) may be missing.

## What JAX does
`jax.tree.map(update, params, mu)` raises where the structures differ. Where only a shape differs, broadcasting may
let it pass: a moment of shape `[4]` for a weight of shape `[8, 4]` is one number for a whole column, and
the step still compiles once. Adam by hand over `{"w": f32[512,512], "b": f32[512]}` has twice the bytes of its
params plus 4, which are the count: what is smaller or larger is not like the params.

## Example
```python
def init(params):
    return {"params": params, "velocity": {"w": jnp.zeros(4), "b": jnp.zeros(4)}}
```

## Use instead
```python
def init(params):
    return {"params": params, "velocity": jax.tree.map(jnp.zeros_like, params)}
```
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.names import is_params
from statelint.model.paths import label
from statelint.model.trace import LeafTrace, StepTrace
from statelint.rules import Rule

RULE = Rule("SL308", "moments-not-like-params", Severity.WARNING)

MIRROR = re.compile(r"mu|nu|momentum|velocity|ema(_.*)?|.*_ema|average(_.*)?|target(_params)?|.*_average")

STEP = re.compile(r"\.?(?P<name>[^.\[\]]+)|\['?(?P<key>[^\]']*)'?\]")
"""One step of a path: `.name`, `['key']` or `[0]`."""

Tree = dict[str, LeafTrace]


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Mirrors that are like no part of any params."""
    params = _subtrees(trace, lambda name: is_params(name) and not MIRROR.fullmatch(name))
    for path, mirror in _subtrees(trace, lambda name: MIRROR.fullmatch(name) is not None).items():
        empty = [other.removeprefix(path) for other in trace.empty if other.startswith(path)]
        compared = [(root, what) for root, tree in params.items() for what in [_difference(mirror, tree, empty)]]
        if compared and all(what is not None for _, what in compared) and (what := compared[0][1]):
            leaf = next(iter(mirror.values()))
            message = f"{label(path)} is not like {label(compared[0][0])}: {what}"
            yield RULE.at(trace.at(leaf.placed, leaf.made), message, field=path)


def _subtrees(trace: StepTrace, is_called: Callable[[str], bool]) -> dict[str, Tree]:
    """The subtrees of more than one step below a name, by path: their leaves by the rest of the path."""
    found: dict[str, Tree] = defaultdict(dict)
    for leaf in trace.leaves:
        for step in STEP.finditer(leaf.path):
            if is_called(step["name"] or step["key"] or "") and step.end() < len(leaf.path):
                found[leaf.path[: step.end()]][leaf.path[step.end() :]] = leaf
                break
    return found


def _difference(mirror: Tree, params: Tree, empty: Sequence[str]) -> str | None:
    """The first difference between a mirror and the params; None when it is like them, or like a part of them."""
    if any(_is_like(mirror, part) for part in _parts(params)):
        return None
    if mirror.keys() == params.keys() and all(
        leaf.aval is not None and not leaf.aval.shape for leaf in mirror.values()
    ):
        # One number for each, by design.
        return None
    common = [path for path in params if path in mirror]
    if 2 * len(common) < len(mirror):
        # By another plan altogether: nothing that was meant to be a mirror.
        return None
    for path in common:
        if (one := mirror[path].aval) and (other := params[path].aval) and one.shape != other.shape:
            return f"{path} is {one} in it and {other} there"
    missing = [path for path in params if path not in mirror and not path.startswith(tuple(empty))]
    added = [path for path in mirror if path not in params]
    return f"{(missing or added)[0]} is only in the {'params' if missing else 'mirror'}" if missing or added else None


def _parts(params: Tree) -> Iterator[Tree]:
    """The params, and each subtree of them."""
    yield params
    for end in {path[: step.end()] for path in params for step in STEP.finditer(path)}:
        yield {path[len(end) :]: leaf for path, leaf in params.items() if path.startswith(end)}


def _is_like(mirror: Tree, params: Tree) -> bool:
    return mirror.keys() == params.keys() and all(
        (one := mirror[path].aval) and (other := params[path].aval) and one.shape == other.shape for path in mirror
    )
