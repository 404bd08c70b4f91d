"""A solver's error is None before the first iteration."""

from typing import Any, NamedTuple

import jax.numpy as jnp

SOURCE = ("SL301",)
PROBE = ("SL301",)


class Root(NamedTuple):
    x: Any
    error: Any


def newton(root):
    x = root.x - (root.x**2 - 2) / (2 * root.x)
    return Root(x, jnp.max(jnp.abs(x - root.x)))


def make():
    return newton, Root(jnp.ones(2), None), ()


def make_fixed():
    return newton, Root(jnp.ones(2), jnp.full((), jnp.inf, jnp.float32)), ()
