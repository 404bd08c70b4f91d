"""A registered dataclass whose constructor has another parameter than its field cannot be rebuilt by JAX."""

import dataclasses

import jax
import jax.numpy as jnp

SOURCE = ("SL604",)
PROBE = ("SL604",)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(init=False)
class Signal:
    samples: jax.Array

    def __init__(self, *, values):
        self.samples = values


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Wave:
    samples: jax.Array


def make():
    def amplify(signal):
        return Signal(values=signal.samples * 2)

    return amplify, Signal(values=jnp.ones(3)), ()


def make_fixed():
    def amplify(wave):
        return Wave(samples=wave.samples * 2)

    return amplify, Wave(samples=jnp.ones(3)), ()
