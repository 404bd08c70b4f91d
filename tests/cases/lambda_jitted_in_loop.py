"""The body of a loop jits a lambda at every turn."""

import jax
import numpy as np

SOURCE = ("SL501",)
COSTS = 4


def cooled(temperature, rate):
    return temperature * (1 - rate)


def run():
    temperature = np.ones(3, np.float32)
    for _ in range(4):
        temperature = jax.jit(lambda t: cooled(t, 0.1))(temperature)
    return temperature


def run_fixed():
    cool = jax.jit(lambda t: cooled(t, 0.1))
    temperature = np.ones(3, np.float32)
    for _ in range(4):
        temperature = cool(temperature)
    return temperature
