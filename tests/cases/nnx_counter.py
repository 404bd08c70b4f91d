"""An nnx module counts its calls in a Python int, which is part of the graphdef."""

import jax.numpy as jnp
from flax import nnx

SOURCE = ("SL101",)


class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 2, rngs=rngs)
        self.count = 0


def traces(calls):
    """How often a jitted call of the module is traced."""
    traced = []

    @nnx.jit
    def encode_step(encoder, x):
        traced.append(encoder.count)
        encoder.count = encoder.count + 1
        return encoder.linear(x)

    encoder = Encoder(nnx.Rngs(0))
    for _ in range(calls):
        encode_step(encoder, jnp.ones((1, 2)))
    return len(traced)
