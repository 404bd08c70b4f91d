"""A trail of positions is empty at first and full after one step."""

import jax
import jax.numpy as jnp
from flax import struct

SOURCE = ()
PROBE = ("SL303",)


@struct.dataclass
class Particle:
    position: jax.Array
    trail: jax.Array


def drift(particle, wind):
    trail = jnp.zeros((6, 2)).at[0].set(particle.position)
    return particle.replace(position=particle.position + wind, trail=trail)


def make():
    return drift, Particle(position=jnp.zeros(2), trail=jnp.array([])), (jnp.ones(2),)


def make_fixed():
    return drift, Particle(position=jnp.zeros(2), trail=jnp.zeros((6, 2))), (jnp.ones(2),)
