"""Running the steps for real, on zeros, and counting what XLA compiles: what predictions are held to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from statelint.probe import leaves, restoring
from statelint.probe.adapters import is_factory
from statelint.probe.build import ProbeError

if TYPE_CHECKING:
    from statelint.probe.tracer import Tracer

PATIENCE = 12
"""A loop that still compiles at this call compiles at every call, unless it was predicted to do so for longer."""

LARGEST = 2**30
"""Bytes of a state that is run."""

_compiled = 0


def _listen(event: str, _: float, **__: Any) -> None:
    global _compiled
    _compiled += event == "/jax/core/compile/backend_compile_duration"


@functools.cache
def _register() -> None:
    """Once: jax has no public way to take a listener off again."""
    jax.monitoring.register_event_duration_secs_listener(_listen)


def measure(tracer: Tracer, predicted: int, restore: str | None = None) -> dict[str, int | None]:
    """The model's `Executables`, measured on arrays of zeros, or on what the factory makes of them.

    Args:
        predicted: executables, of the loop or after a restore.
        restore: take the state through a real checkpoint of this library, in place of a strong copy of it.

    Raises:
        ProbeError: the state is too large to be made.
        Exception: whatever the step raises.
    """
    size = sum(leaves.nbytes(value) for value in tracer.first.values if isinstance(value, jax.ShapeDtypeStruct))
    if size > LARGEST:
        raise ProbeError(f"--measure: the state is {size:,} bytes, too many to be run")
    run = _Run(tracer)
    tree = run.state()
    counts: list[int] = []
    patience = max(PATIENCE, predicted + 1)
    while not counts or (counts[-1] and len(counts) < patience):
        tree, count = run.once(tree)
        counts.append(count)
    if counts[-1]:
        return {"loop": None, "restore": 0}
    restored: list[int] = []
    tree = run.restored(tree, restore)
    while not restored or (restored[-1] and len(restored) < patience):
        tree, count = run.once(tree)
        restored.append(count)
    return {"loop": sum(counts), "restore": sum(restored)}


class _Run:
    def __init__(self, tracer: Tracer) -> None:
        _register()
        self.tracer = tracer
        self.stepper = tracer.stepper
        self.others = _concrete(self.stepper.flat)
        self.call: Callable[..., Any] = tracer.step if self.stepper.is_jitted else tracer.adapter.jit(tracer.step)
        jax.clear_caches()

    def state(self) -> Any:
        """The initial state, its buffers its own: what donation would refuse is another finding."""
        tracer = self.tracer
        if is_factory(tracer.state):
            arguments = leaves.resolve_notation(list(tracer.state_args))
            tree = tracer.state(*jax.tree_util.tree_map(_zeros, arguments))
            tree = tracer.picked(tree)
        else:
            tree = jax.tree_util.tree_map(_zeros, leaves.resolve_notation(tracer.state))
        return tree if self.tracer.adapter.in_place else jax.tree_util.tree_map(_own, tree)

    def once(self, tree: Any) -> tuple[Any, int]:
        """The next state, and whether that cost an executable of the step.

        A call may compile other programs on its way: eager operations that the step does while it is traced, or
        what cuts an array into the parts of several devices.
        """
        before = _compiled
        result = self.call(*self.stepper.arguments(tree, self.others))
        jax.block_until_ready([leaf for leaf in jax.tree_util.tree_leaves(result) if isinstance(leaf, jax.Array)])
        return self.stepper.state_in(result, tree, self.tracer.first), int(_compiled > before)

    def restored(self, tree: Any, how: str | None) -> Any:
        """The state as a checkpoint brings it back."""
        adapter = self.tracer.adapter
        if how is not None and adapter.name == "jax.jit":
            return restoring.saved(how, tree)
        flat = adapter.flatten(tree)
        places = [place for place, leaf in enumerate(flat.leaves) if adapter.is_traced(leaf)]
        traced = [flat.leaves[place] for place in places]
        back = list(flat.leaves)
        for place, leaf in zip(
            places, map(_strong, traced) if how is None else restoring.saved(how, traced), strict=True
        ):
            back[place] = leaf
        return adapter.unflatten(flat.treedef, back)


def _concrete(values: Sequence[Any]) -> list[Any]:
    return [_zeros(value) for value in values]


def _zeros(leaf: Any) -> Any:
    return leaves.zeros(leaf) if isinstance(leaf, jax.ShapeDtypeStruct) else leaf


def _own(leaf: Any) -> Any:
    # A copy keeps the weak type and the sharding, and takes a new buffer.
    return jnp.copy(leaf) if isinstance(leaf, jax.Array) and not leaf.committed else leaf


def _strong(leaf: Any) -> Any:
    is_key = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return leaf if is_key else jnp.asarray(np.asarray(leaf))
