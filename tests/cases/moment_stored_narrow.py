"""A donated float32 moment comes back as bfloat16: its buffer is lost."""

import functools

import jax
import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL404",)

WRAP = functools.partial(jax.jit, donate_argnums=0)


def descend(state, gradient):
    moment = 0.9 * state["moment"] + gradient
    return {"moment": moment, "weights": state["weights"] - 0.1 * moment}


def descend_narrow(state, gradient):
    state = descend(state, gradient)
    return state | {"moment": state["moment"].astype(jnp.bfloat16)}


def make():
    return descend_narrow, {"moment": jnp.zeros(256), "weights": jnp.ones(256)}, (jnp.ones(256),)


def make_fixed():
    return descend, {"moment": jnp.zeros(256), "weights": jnp.ones(256)}, (jnp.ones(256),)
