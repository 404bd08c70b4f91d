"""A sum starts from the Python 0 and becomes a vector of floats."""

import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL302", "SL303")


def add_row(carry):
    total, rows = carry
    return total + rows[0] * rows[1], rows


def make():
    return add_row, (0, jnp.ones((5, 3))), ()


def make_fixed():
    return add_row, (jnp.zeros(3), jnp.ones((5, 3))), ()
