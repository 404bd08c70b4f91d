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


def normal(key: Any) -> Any:
    return jax.random.normal(key, (3,))


def fold_in(key: Any, number: Any) -> Any:
    return jax.random.fold_in(key, number)


def each(draw: Any) -> Any:
    """Drawn in each turn of a loop."""
    return jax.lax.scan(lambda total, turn: (total + draw(turn), None), jnp.zeros(3), jnp.arange(3))[0]


def each_of(key: Any) -> Any:
    """Drawn in a loop from one key of many turns."""
    return each(lambda turn: normal(fold_in(key, turn)))


def in_turn(key: Any, first: Any) -> Any:
    """Drawn in a loop that counts on from a number."""
    return jax.lax.fori_loop(0, 3, lambda _, c: (c[0] + 1, c[1] + normal(fold_in(key, c[0]))), (first, jnp.zeros(3)))[1]


wrap = jax.random.wrap_key_data

DRAWN_AGAIN = {
    "drawn from": lambda s, x: normal(s["key"]),
    "split": lambda s, x: normal(jax.random.split(s["key"])[0]),
    "a constant folded": lambda s, x: normal(fold_in(s["key"], 7)),
    "constants folded": lambda s, x: normal(fold_in(fold_in(s["key"], 7), jnp.ones((), jnp.int32))),
    "folded by a leaf that stays": lambda s, x: normal(fold_in(s["key"], s["epoch"] * 2)),
    "a constant folded and split": lambda s, x: normal(jax.random.split(fold_in(s["key"], 0), 4)[2]),
    "a constant folded in a jitted helper": lambda s, x: jax.jit(lambda k: normal(fold_in(k, 1)))(s["key"]),
    "drawn in a helper": lambda s, x: jax.jit(normal)(fold_in(s["key"], 1)),
    "folded and drawn": lambda s, x: normal(fold_in(s["key"], s["step"])).at[2].set(normal(s["key"])[2]),
    "by the turn of a loop": lambda s, x: each_of(s["key"]),
    "by a count in a loop": lambda s, x: in_turn(s["key"], 0),
    "in one branch": lambda s, x: jax.lax.cond(s["epoch"] > 0, normal, lambda k: jnp.zeros(3), fold_in(s["key"], 0)),
    "made of its data and a constant": lambda s, x: normal(wrap(jax.random.key_data(s["key"]) + jnp.uint32(1))),
    "one of two by a leaf that stays": lambda s, x: normal(jnp.where(s["epoch"], *jax.random.split(s["key"]))),
}
DRAWN_ANEW = {
    "folded by the step": lambda s, x: normal(fold_in(s["key"], s["step"])),
    "folded by what is given": lambda s, x: normal(fold_in(s["key"], x)),
    "folded by what changes": lambda s, x: normal(fold_in(s["key"], s["x"][0].astype(jnp.int32))),
    "a constant folded, then the step": lambda s, x: normal(fold_in(fold_in(s["key"], 7), s["step"])),
    "the step folded, then a constant": lambda s, x: normal(fold_in(fold_in(s["key"], s["step"]), 7)),
    "split, then the step folded": lambda s, x: normal(fold_in(jax.random.split(s["key"])[1], s["step"])),
    "folded in a jitted helper": lambda s, x: jax.jit(lambda k, n: normal(fold_in(k, n * 2)))(s["key"], s["step"]),
    "drawn in a helper": lambda s, x: jax.jit(normal)(fold_in(s["key"], s["step"])),
    "by the turn of a loop and the step": lambda s, x: each(lambda n: normal(fold_in(s["key"], s["step"] * 3 + n))),
    "folded for a loop": lambda s, x: each_of(fold_in(s["key"], s["step"])),
    "by a count in a loop": lambda s, x: in_turn(s["key"], s["step"] * 3),
    "in one branch": lambda s, x: jax.lax.cond(
        s["epoch"] > 0, normal, lambda k: jnp.zeros(3), fold_in(s["key"], s["step"])
    ),
    "for many at once": lambda s, x: jax.vmap(lambda n: normal(fold_in(s["key"], s["step"] * 4 + n)))(jnp.arange(4))[0],
    "one of many by the step": lambda s, x: normal(jax.random.split(s["key"], 9)[s["step"]]),
    "the step folded into half of it": lambda s, x: normal(fold_in(jax.random.split(s["key"])[0], s["step"])),
    "made of its data and the step": lambda s, x: normal(
        wrap(jax.random.key_data(s["key"]) + s["step"].astype("uint32"))
    ),
    "made of its data, beside the step": lambda s, x: normal(
        wrap(jnp.stack([jax.random.key_data(s["key"])[1], s["step"].astype("uint32")]))
    ),
    "one of two by the step": lambda s, x: normal(jnp.where(s["step"] % 2, *jax.random.split(s["key"]))),
    "one of two by the step, split off": lambda s, x: normal(
        jnp.where(s["step"] % 2, *jnp.split(jax.random.key_data(jax.random.split(s["key"])), 2))[0]
    ),
    "never": lambda s, x: fold_in(s["key"], 0) is None,
}


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey], ids=["typed", "raw"])
@pytest.mark.parametrize(
    ("draw", "again"),
    [
        pytest.param(draw, again, id=f"{name}: {'again' if again else 'anew'}")
        for draws, again in ((DRAWN_AGAIN, True), (DRAWN_ANEW, False))
        for name, draw in draws.items()
    ],
)
def test_what_is_drawn_from_a_key_that_stays(make: Any, draw: Any, again: bool) -> None:
    def init() -> Any:
        return {
            "key": make(0),
            "x": jnp.zeros(3),
            "step": jnp.zeros((), jnp.int32),
            "epoch": jnp.ones((), jnp.int32),
        }

    def step(state: Any, x: Any) -> Any:
        return {**state, "x": state["x"] + draw(state, x), "step": state["step"] + 1}

    seen = {leaf.name: leaf for leaf in trace(jax.jit(step), init, jnp.zeros((), jnp.int32)).leaves}["key"]
    assert (seen.passed, seen.drawn_again) == (True, again)
    moves = []
    state = init()
    for number in range(2):
        after = step(state, number)
        moves.append(after["x"][-1] - state["x"][-1])
        state = after
    assert (abs(moves[1] - moves[0]) < 1e-5) == (again or draw is DRAWN_ANEW["never"])
