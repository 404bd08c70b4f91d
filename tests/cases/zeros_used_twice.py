"""One zero for two moments and one for two counters, in a state that is donated."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp

SOURCE = ("SL401",)
PROBE = ("SL401",)
WRAP = functools.partial(jax.jit, donate_argnums=0)


class KernelState(NamedTuple):
    mean: jax.Array
    variance: jax.Array
    warmups: jax.Array
    draws: jax.Array


def adapt(state):
    return KernelState(state.mean + 0.5, state.variance * 0.9, state.warmups + 1, state.draws + 2)


def make():
    vector, number = jnp.zeros(4), jnp.zeros((), jnp.int32)
    return adapt, KernelState(vector, vector, number, number), ()


def make_fixed():
    state = KernelState(jnp.zeros(4), jnp.zeros(4), jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
    return adapt, state, ()
