"""Paths of leaves: each its own, whatever the classes of the state do, and as one would write them if that shows."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from statelint import check, trace
from statelint.model.trace import StepTrace
from tests.reality import measure


@jax.tree_util.register_pytree_node_class
class Tally:
    def __init__(self, hits: Any, misses: Any) -> None:
        self.start = 0
        self.hits = hits
        self.misses = misses

    def tree_flatten(self) -> Any:
        return (self.hits, self.misses), None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> "Tally":
        return cls(*children)


@jax.tree_util.register_pytree_node_class
class Strict(Tally):
    def __init__(self, hits: Any, misses: Any) -> None:
        super().__init__(hits + 0, misses + 0)


@jax.tree_util.register_pytree_with_keys_class
class Careless:
    def __init__(self, one: Any, other: Any) -> None:
        self.one, self.other = one, other

    def tree_flatten_with_keys(self) -> Any:
        key = jax.tree_util.GetAttrKey("item")
        return ((key, self.one), (key, self.other)), None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> "Careless":
        return cls(*children)


def double(state: Any) -> Any:
    return jax.tree.map(lambda x: x * 2, state)


def paths(seen: StepTrace) -> list[str]:
    return [leaf.path for leaf in seen.leaves]


@pytest.mark.parametrize("make", [lambda: 0, lambda: jnp.zeros(3), lambda: None])
def test_two_children_that_are_one_object(make: Any) -> None:
    def create() -> Any:
        value = make()
        return Tally(value, value)

    seen = trace(double, create)
    assert paths(seen) == ([] if make() is None else ["hits", "misses"])
    assert not seen.structure
    assert seen.executables.loop == measure(double, create).loop


def test_a_class_that_refuses_placeholders() -> None:
    zeros = jnp.zeros(3)
    assert paths(trace(double, lambda: Strict(zeros, zeros))) == ["hits", "misses"]


def test_two_children_of_one_key() -> None:
    seen = trace(double, lambda: {"x": Careless(jnp.zeros(3), jnp.ones(3))})
    assert paths(seen) == ["['x'].item", "['x'].item[<child 1>]"]


def test_one_buffer_under_a_class_without_keys() -> None:
    def create() -> Any:
        zeros = jnp.zeros(3)
        return Tally(zeros, zeros)

    step = jax.jit(double, donate_argnums=0)
    (finding,) = check(step, create)
    assert finding.message.startswith("state.hits and state.misses share one buffer: donating this state raises")
    assert measure(step, create).donation_error is not None


def test_a_state_that_is_one_variable() -> None:
    def step(variable: Any) -> None:
        variable.value = variable.value * 2

    seen = trace(nnx.jit(step), lambda: nnx.Param(jnp.zeros(3)))
    assert [(leaf.path, str(leaf.aval)) for leaf in seen.leaves] == [("", "float32[3]")]
    assert seen.executables.loop == 1
    kept = trace(nnx.jit(lambda pair: None), lambda: (nnx.Param(jnp.zeros(3)), nnx.BatchStat(jnp.zeros(2))))
    assert paths(kept) == ["[0]", "[1]"]
