"""A dropout mask is drawn from the key of the state, which is handed on as it is."""

import jax
import jax.numpy as jnp

SOURCE = ("SL305",)
PROBE = ("SL305",)


def start():
    return {"rng": jax.random.key(3), "sum": jnp.zeros(5)}


def drop(state, x):
    keep = jax.random.bernoulli(state["rng"], 0.8, x.shape)
    return {"rng": state["rng"], "sum": state["sum"] + keep * x}


def drop_anew(state, x):
    rng, draw = jax.random.split(state["rng"])
    keep = jax.random.bernoulli(draw, 0.8, x.shape)
    return {"rng": rng, "sum": state["sum"] + keep * x}


def make():
    return drop, start(), (jnp.ones(5),)


def make_fixed():
    return drop_anew, start(), (jnp.ones(5),)
