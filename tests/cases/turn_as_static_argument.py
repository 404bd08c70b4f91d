"""The number of the turn is a static argument, which never repeats."""

import functools

import jax
import numpy as np

SOURCE = ("SL502",)
COSTS = 6


@functools.partial(jax.jit, static_argnums=(1,))
def decayed(x, turn):
    return x / (1 + turn)


@jax.jit
def decayed_by_array(x, turn):
    return x / (1 + turn)


def run():
    x = np.ones(2, np.float32)
    for turn in range(6):
        x = decayed(x, turn)
    return x


def run_fixed():
    x = np.ones(2, np.float32)
    for turn in range(6):
        x = decayed_by_array(x, turn)
    return x
