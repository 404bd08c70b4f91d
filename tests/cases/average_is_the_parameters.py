"""A running average starts as the very arrays that it averages, and the state is donated."""

import functools

import jax
import jax.numpy as jnp

SOURCE = ("SL401",)
PROBE = ("SL401",)
WRAP = functools.partial(jax.jit, donate_argnums=0)


def decay(state):
    kernel = state["params"]["kernel"] * 0.99
    ema = 0.9 * state["ema"]["kernel"] + 0.1 * kernel
    return {"params": {"kernel": kernel}, "ema": {"kernel": ema}}


def make():
    params = {"kernel": jnp.ones((2, 2))}
    return decay, {"params": params, "ema": params}, ()


def make_fixed():
    params = {"kernel": jnp.ones((2, 2))}
    return decay, {"params": params, "ema": jax.tree.map(jnp.copy, params)}, ()
