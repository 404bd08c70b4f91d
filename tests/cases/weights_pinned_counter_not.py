"""The weights are committed to a device, as a checkpoint brings them back, and the counter is not."""

import jax
import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL703",)


def descend(state):
    return {"weights": state["weights"] * 0.9, "count": state["count"] + 1}


def make():
    weights = jax.device_put(jnp.ones(4), jax.devices()[0])
    return descend, {"weights": weights, "count": jnp.zeros((), jnp.int32)}, ()


def make_fixed():
    return descend, {"weights": jnp.ones(4), "count": jnp.zeros((), jnp.int32)}, ()
