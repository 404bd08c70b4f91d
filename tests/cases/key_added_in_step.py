"""A wrapper records the last observation under a key that reset did not make."""

import jax.numpy as jnp

SOURCE = ("SL301",)
PROBE = ("SL301",)


def wrapped(env, action):
    seen = env["seen"] + action
    return {"seen": seen, "info": {**env["info"], "last_seen": seen}}


def make():
    return wrapped, {"seen": jnp.zeros(3), "info": {"length": jnp.zeros((), jnp.int32)}}, (jnp.ones(3),)


def make_fixed():
    info = {"length": jnp.zeros((), jnp.int32), "last_seen": jnp.zeros(3)}
    return wrapped, {"seen": jnp.zeros(3), "info": info}, (jnp.ones(3),)
