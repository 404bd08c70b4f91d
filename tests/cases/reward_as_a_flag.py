"""The reward is a float at reset and the result of a comparison afterwards."""

import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL302",)


def move(state, direction):
    cell = jnp.clip(state["cell"] + direction, 0, 4)
    return {"cell": cell, "reward": jnp.all(cell == 4)}


def move_for_floats(state, direction):
    cell = jnp.clip(state["cell"] + direction, 0, 4)
    return {"cell": cell, "reward": jnp.all(cell == 4).astype(jnp.float32)}


def make():
    return move, {"cell": jnp.zeros(2, jnp.int32), "reward": jnp.zeros(())}, (jnp.ones(2, jnp.int32),)


def make_fixed():
    return (
        move_for_floats,
        {"cell": jnp.zeros(2, jnp.int32), "reward": jnp.zeros(())},
        (jnp.ones(2, jnp.int32),),
    )
