"""An int32 clock is advanced by a Python float."""

import jax.numpy as jnp

SOURCE = ("SL302",)
PROBE = ("SL302",)


def tick_float(state):
    return {"clock": state["clock"] + 1.0, "field": state["field"] * 0.9}


def tick(state):
    return {"clock": state["clock"] + 1, "field": state["field"] * 0.9}


def make():
    return tick_float, {"clock": jnp.zeros((), jnp.int32), "field": jnp.ones(3)}, ()


def make_fixed():
    return tick, {"clock": jnp.zeros((), jnp.int32), "field": jnp.ones(3)}, ()
