"""A read-only mapping is no container to JAX but one leaf, which jit refuses."""

import types

import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL105",)


def shrink(state):
    return {"options": state["options"], "x": state["x"] * state["options"]["factor"]}


def make():
    return shrink, {"options": types.MappingProxyType({"factor": 0.5}), "x": jnp.ones(2)}, ()


def make_fixed():
    return shrink, {"options": {"factor": jnp.full((), 0.5, jnp.float32)}, "x": jnp.ones(2)}, ()
