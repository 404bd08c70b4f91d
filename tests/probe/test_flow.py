"""What becomes of a step's inputs, followed into scans, loops, branches and calls."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from statelint import trace

STATE = {"a": "f32[2]", "k": "f32[]", "u": "f32[4]"}


def scanned(state: Any, xs: Any) -> Any:
    def turn(c: Any, x: Any) -> Any:
        return {"a": c["a"] + c["k"] * x, "k": c["k"], "u": c["u"]}, None

    return jax.lax.scan(turn, state, xs)[0]


def looped(state: Any, xs: Any) -> Any:
    return jax.lax.while_loop(lambda c: c["a"][0] < c["k"], lambda c: {**c, "a": c["a"] + 1}, state)


def branched(state: Any, xs: Any) -> Any:
    return jax.lax.cond(state["k"] > 0, lambda s: s, lambda s: {**s, "a": s["a"] * 2}, state)


def checkpointed(state: Any, xs: Any) -> Any:
    return jax.checkpoint(lambda s: {**s, "a": s["a"] * s["k"]})(state)


@pytest.mark.parametrize("step", [scanned, looped, branched, checkpointed])
@pytest.mark.parametrize("wrap", [lambda step: step, jax.jit], ids=["plain", "jitted"])
def test_what_only_travels_is_passed_and_not_read(step: Any, wrap: Any) -> None:
    seen = {leaf.name: (leaf.passed, leaf.read) for leaf in trace(wrap(step), STATE, "f32[3,2]").leaves}
    assert seen == {"a": (False, True), "k": (True, True), "u": (True, False)}


def test_leaves_that_change_places_are_read() -> None:
    seen = trace(lambda s: {"a": s["b"], "b": s["a"]}, {"a": "f32[2]", "b": "f32[2]"})
    assert [(leaf.passed, leaf.read) for leaf in seen.leaves] == [(False, True), (False, True)]

    def turns(state: Any) -> Any:
        return jax.lax.fori_loop(0, 3, lambda _, s: {"a": s["b"], "b": s["a"]}, state)

    seen = trace(turns, {"a": "f32[2]", "b": "f32[2]"})
    assert [(leaf.passed, leaf.read) for leaf in seen.leaves] == [(False, True), (False, True)]


def test_a_leaf_that_is_given_out_beside_the_state_is_read() -> None:
    (seen,) = trace(lambda s: (s, s["x"]), {"x": "f32[2]"}).leaves
    assert (seen.passed, seen.read) == (True, True)


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey], ids=["typed", "raw"])
def test_keys_that_are_drawn_from_and_keys_that_are_folded(make: Any) -> None:
    def draw(state: Any) -> Any:
        return {"key": state["key"], "x": jax.random.normal(state["key"], (3,))}

    def fold(state: Any) -> Any:
        key = jax.random.fold_in(state["key"], state["x"][0].astype(jnp.int32))
        return {"key": state["key"], "x": jax.random.normal(key, (3,))}

    for step, folded in ((draw, False), (fold, True)):
        leaf = trace(jax.jit(step), lambda: {"key": make(0), "x": jnp.zeros(3)}).leaves[0]
        assert (leaf.is_key, leaf.passed, leaf.read, leaf.folded) == (True, True, True, folded)
