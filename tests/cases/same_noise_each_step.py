"""A sampler draws from the key of its state and hands the same key on."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

SOURCE = ("SL305",)
PROBE = ("SL305",)


class Walker(NamedTuple):
    place: jax.Array
    rng: jax.Array


def make():
    def walk_step(walker, scale):
        noise = jax.random.normal(walker.rng, (3,))
        return walker._replace(place=walker.place + scale * noise)

    return walk_step, Walker(jnp.zeros(3), jax.random.key(0)), (jnp.ones(3),)


def make_fixed():
    def walk_step(walker, scale):
        rng, draw = jax.random.split(walker.rng)
        noise = jax.random.normal(draw, (3,))
        return walker._replace(place=walker.place + scale * noise, rng=rng)

    return walk_step, Walker(jnp.zeros(3), jax.random.key(0)), (jnp.ones(3),)
