"""Two leaves of one state share a buffer, so donating the state fails.

## What it does

Looks for one array, or one tree of arrays, that is put into a state twice: by the same name, by two names
for one thing, or through functions that give the same buffer back (`jnp.asarray`, `jax.device_put`,
`lax.stop_gradient`, the identity under `jax.tree.map`). It is an error when a jit in the same file
donates, and a warning when nothing in sight does. What is built while a step or a jitted function is
traced is left alone, since there every leaf gets a buffer of its own; so is what is mapped by a function that copies
(`jax.tree.map(jnp.copy, state)`), and what NumPy makes, which is never donated.

## What JAX does

`{"mu": zeros, "nu": zeros}`, built eagerly, is two leaves and one buffer. A call that donates it raises
`Attempt to donate the same buffer twice`. The same goes for parameters that are kept twice, as a moving
average or a target network that starts as the parameters themselves.

A new buffer comes from `jnp.array`, `jnp.copy` and `x + 0`, but not from `jnp.asarray`, `astype` to the
same dtype, `reshape` to the same shape, `x[:]`, `device_put` or `broadcast_to` the same shape.

## Example

```python
zeros = jax.tree.map(jnp.zeros_like, params)
state = {"params": params, "mu": zeros, "nu": zeros, "ema": params}
```

## Use instead

```python
state = {
    "params": params,
    "mu": jax.tree.map(jnp.zeros_like, params),
    "nu": jax.tree.map(jnp.zeros_like, params),
    "ema": jax.tree.map(jnp.copy, params),
}
```

## Fix safety

Safe: the values are the same. It costs the memory of the copy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Related, Severity
from statelint.model.paths import common_parents, label
from statelint.model.source import StateItem, StateValue
from statelint.model.trace import LeafTrace, StepTrace
from statelint.model.wording import brief, listed
from statelint.rules import Rule

RULE = Rule("SL401", "shared-buffer", Severity.ERROR)


def in_source(value: StateValue) -> Iterator[Diagnostic]:
    """Entries of one value that hold one buffer."""
    if value.traced:
        return
    groups: dict[str, list[StateItem]] = defaultdict(list)
    for item in value.items:
        if item.value.buffer is not None and not item.is_static:
            groups[item.value.buffer].append(item)
    for first, second, *others in (group for group in groups.values() if len(group) > 1):
        paths = [item.label for item in (first, second, *others)]
        yield RULE.at(
            second.value.at,
            f"{listed(paths)} share one buffer: donating this state fails",
            field=second.path,
            severity=Severity.ERROR if value.donates else Severity.WARNING,
            fix=Fix(
                safe=True,
                message=f"make each its own, or copy: `jax.tree.map(jnp.copy, {brief(second.value.text)})`",
                edits=tuple(edit for item in (second, *others) for edit in item.value.copied()),
            ),
            related=tuple(Related(item.value.at, f"{item.label} holds it too") for item in (first, *others)),
        )


def _place(leaf: LeafTrace) -> tuple[str, int, int]:
    """Where it is put in the state: of several, the first stands there in its own right, as in the source."""
    at = leaf.entered or leaf.placed or leaf.made
    return (at.path, at.line, at.column) if at is not None else ("", 0, 0)


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Leaves that share a buffer, however they came to; subtrees that share all along are named once."""
    yield from _among_leaves(trace)
    for leaf in trace.leaves:
        if leaf.shares_argument is not None and _matters(trace, leaf.clashes_argument):
            yield RULE.at(
                trace.at(leaf.placed, leaf.made),
                f"{leaf.label} and the argument {leaf.shares_argument} are one buffer: "
                + _tail(
                    leaf.clashes_argument, "this state" if leaf.donated or trace.donates is None else "the argument"
                ),
                field=leaf.path,
                severity=_severity(leaf.clashes_argument),
            )


def _among_leaves(trace: StepTrace) -> Iterator[Diagnostic]:
    groups: dict[int, list[LeafTrace]] = defaultdict(list)
    for leaf in trace.leaves:
        if leaf.shares is not None and _matters(trace, leaf.clashes):
            groups[leaf.shares].append(leaf)
    trees: dict[tuple[str, ...], list[list[LeafTrace]]] = defaultdict(list)
    for group in groups.values():
        group.sort(key=_place)
        trees[common_parents([leaf.path for leaf in group])].append(group)
    for parents, alike in trees.items():
        paths = parents if len(alike) > 1 else tuple(leaf.path for leaf in alike[0])
        what = f"share {len(alike)} buffers" if len(alike) > 1 else "share one buffer"
        second = alike[0][1]
        if second.shares_guessed:
            message = f"may {what} (the state is too large to make it and see): donating them would raise"
        else:
            message = f"{what}: {_tail(second.clashes, 'this state')}"
        yield RULE.at(
            trace.at(second.entered, second.placed, second.made),
            f"{listed([label(path) for path in paths])} {message}",
            field=paths[1],
            severity=Severity.WARNING if second.shares_guessed else _severity(second.clashes),
        )


def _matters(trace: StepTrace, clashes: bool | None) -> bool:
    """Whether the step raises, or some step may: one that is jitted and donates nothing is as it should be."""
    return trace.donates is None if clashes is None else clashes


def _tail(clashes: bool | None, what: str) -> str:
    return f"donating {what} raises" if clashes else f"a step that donates {what} raises"


def _severity(clashes: bool | None) -> Severity:
    return Severity.ERROR if clashes else Severity.WARNING
