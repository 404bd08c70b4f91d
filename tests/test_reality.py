"""The measuring instrument agrees with what is known of JAX."""

from __future__ import annotations

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.reality import concrete, executables, is_jitted, measure, restored


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Walk:
    position: jax.Array
    stride: int = dataclasses.field(metadata={"static": True})


class Tally(eqx.Module):
    total: jax.Array
    steps: int


def sum_chain(carry, x):
    return [carry[0] + x, *(later + earlier for later, earlier in zip(carry[1:], carry[:-1], strict=True))]


def test_a_python_counter_costs_nothing_until_it_is_restored():
    seen = measure(lambda count: count + 1, 0)
    assert (seen.loop, seen.restore) == (1, 1)
    assert [int(count) for (count,) in seen.results] == [1, 2, 3, 4, 5]


def test_a_strong_counter_never_costs_more():
    seen = measure(lambda count: count + 1, lambda: jnp.zeros((), jnp.int32))
    assert (seen.loop, seen.restore, seen.error) == (1, 0, None)
    assert seen.compiles == (1, 0, 0, 0, 0)


@pytest.mark.parametrize("length", [1, 3, 7])
def test_a_chain_of_weak_carries_turns_strong_one_call_at_a_time(length):
    seen = measure(sum_chain, [0.0] * length, ("f16[]",))
    assert (seen.loop, seen.restore) == (length + 1, 0)


def test_a_static_field_that_changes_costs_an_executable_a_call():
    def step(walk):
        return Walk(walk.position + walk.stride, walk.stride + 1)

    assert measure(step, lambda: Walk(jnp.zeros(2), 1)).loop is None


def test_each_value_of_a_static_field_is_an_executable():
    def step(walk):
        return walk.position + walk.stride

    assert executables(step, [Walk(jnp.zeros(2), stride) for stride in (1, 2, 3, 2, 1)]) == 3


def test_a_shared_buffer_is_not_donated_twice():
    @functools.partial(jax.jit, donate_argnums=0)
    def step(state):
        return {"mu": state["mu"] * 0.9, "nu": state["nu"] * 0.99}

    def init():
        zeros = jnp.zeros(3)
        return {"mu": zeros, "nu": zeros}

    seen = measure(step, init)
    assert "call 1" in seen.donation_error
    assert (seen.loop, seen.restore) == (1, 0)
    assert measure(step, jax.jit(init)).donation_error is None


def test_the_call_that_fails_is_named():
    seen = measure(lambda x: x @ x, lambda: jnp.ones(3))
    assert seen.error.startswith("call 2: ")
    assert seen.loop == 1


def test_equinox_holds_numbers_static_through_a_restore():
    step = eqx.filter_jit(lambda tally, x: Tally(tally.total + x, tally.steps))
    seen = measure(step, lambda: Tally(jnp.zeros(()), 0), ("f32[]",))
    assert (seen.loop, seen.restore) == (1, 0)
    step = eqx.filter_jit(lambda tally, x: Tally(tally.total + x, tally.steps + 1))
    assert measure(step, lambda: Tally(jnp.zeros(()), 0), ("f32[]",)).loop is None


@pytest.mark.parametrize("returns", [None, 1])
def test_the_state_is_found_in_a_tuple(returns):
    def step(x, state):
        return x.sum(), {"total": state["total"] + x.sum()}

    seen = measure(step, lambda: {"total": jnp.zeros(())}, ("f32[3]",), state_argnum=1, returns=returns)
    assert (seen.loop, seen.restore) == (1, 0)
    assert float(seen.results[-1][1]) == 15.0


def test_the_same_step_is_measured_anew_each_time():
    step = jax.jit(lambda count: count + 1)
    assert [measure(step, 0).loop for _ in range(2)] == [1, 1]


def test_wider_types_are_switched_on_for_the_measurement_alone():
    seen = measure(lambda x: x * 2, lambda: jnp.zeros(()), x64=True)
    assert seen.results[0][0].dtype == np.float64
    assert jnp.zeros(()).dtype == np.float32


def test_a_restored_state_is_strong_and_its_keys_are_kept():
    state = restored({"count": 3, "scale": jnp.asarray(0.5), "key": jax.random.key(0)})
    assert state["count"].dtype == jnp.int32
    assert not state["count"].weak_type
    assert not state["scale"].weak_type
    assert jnp.issubdtype(state["key"].dtype, jax.dtypes.prng_key)
    assert restored({"count": 3}, python_numbers=False) == {"count": 3}


def test_jax_notation_gives_arrays():
    x, params = concrete(("bf16[2,3]", {"w": "i32[]", "mask": "bool[4]"}))
    assert (x.dtype, x.shape) == (jnp.bfloat16, (2, 3))
    assert (params["w"].dtype, params["mask"].shape) == (jnp.int32, (4,))
    assert concrete("key<fry>[]").shape == ()
    assert concrete("math:pi") > 3


def test_a_partial_of_a_jitted_step_is_jitted():
    assert is_jitted(functools.partial(jax.jit(sum_chain), [0.0]))
    assert not is_jitted(functools.partial(sum_chain, [0.0]))
