"""Each carry takes on the type of the one before it: a call for each until all are strong."""

import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL304",)


def differences(carry, x):
    total, *rest = carry
    return [total + x, *(high + low for high, low in zip(rest, carry[:-1], strict=True))]


def make():
    return differences, [0.0, 0.0, 0.0], (jnp.ones((), jnp.float16),)


def make_fixed():
    return differences, [jnp.zeros((), jnp.float16) for _ in range(3)], (jnp.ones((), jnp.float16),)
