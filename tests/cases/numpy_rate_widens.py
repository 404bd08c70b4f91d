"""A NumPy float32 learning rate turns bfloat16 weights into float32."""

import jax.numpy as jnp
import numpy as np

SOURCE = ()
PROBE = ("SL302",)


def descend_at(rate):
    def descend(weight):
        return weight - rate * jnp.sign(weight)

    return descend, jnp.ones((2, 2), jnp.bfloat16), ()


def make():
    return descend_at(np.float32(1e-2))


def make_fixed():
    return descend_at(1e-2)
