"""A weak scale and a Python count, both stable: the cost comes with the checkpoint."""

import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL101", "SL102", "SL103")


def anneal(state):
    return {"w": state["w"] * state["heat"], "heat": state["heat"] * 0.5, "rounds": state["rounds"] + 1}


def make():
    return anneal, {"w": jnp.ones(3), "heat": jnp.asarray(1.0), "rounds": 0}, ()


def make_fixed():
    return anneal, {"w": jnp.ones(3), "heat": jnp.ones(()), "rounds": jnp.zeros((), jnp.int32)}, ()
