"""A step jits a method of its solver each time it is called."""

import jax
import numpy as np

SOURCE = ("SL501",)
COSTS = 3


class Smoother:
    def __init__(self, weight):
        self.weight = weight

    def smooth(self, x):
        return self.weight * x


def run():
    smoother = Smoother(0.5)

    def step(x):
        return jax.jit(smoother.smooth)(x)

    x = np.ones(2, np.float32)
    for _ in range(3):
        x = step(x)
    return x


def run_fixed():
    step = jax.jit(Smoother(0.5).smooth)
    x = np.ones(2, np.float32)
    for _ in range(3):
        x = step(x)
    return x
