"""A running average starts as a Python float, which filter_jit holds static, and every step makes another of it."""

import equinox as eqx
import jax.numpy as jnp

SOURCE = ("SL202",)
PROBE = ("SL202",)
WRAP = eqx.filter_jit


@eqx.filter_jit
def train_step(state, gradient):
    return {"params": state["params"] - gradient, "rate": 0.9 * state["rate"] + 0.01}


def train(gradients):
    state = {"params": jnp.ones(3), "rate": 1.0}
    for gradient in gradients:
        state = train_step(state, gradient)
    return state


def make():
    return train_step, {"params": jnp.ones(3), "rate": 1.0}, (jnp.zeros(3),)


def make_fixed():
    return train_step, {"params": jnp.ones(3), "rate": jnp.ones((), jnp.float32)}, (jnp.zeros(3),)
