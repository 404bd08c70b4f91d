"""The whole state is one Python int, and the increment is an array."""

import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL304",)


def advance(ticks, stride):
    return ticks + stride


def make():
    return advance, 0, (jnp.full((), 3, jnp.int32),)


def make_fixed():
    return advance, jnp.zeros((), jnp.int32), (jnp.full((), 3, jnp.int32),)
