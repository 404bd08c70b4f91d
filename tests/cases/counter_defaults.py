"""A sampler's counters default to Python ints on the class."""

import jax
import jax.numpy as jnp
from flax import struct

SOURCE = ("SL101",)
PROBE = ("SL304",)


@struct.dataclass
class SpinState:
    spins: jax.Array
    key: jax.Array
    n_steps: int = 0
    n_accepted: int = 0


def sweep(state):
    key, draw = jax.random.split(state.key)
    flips = jax.random.uniform(draw, state.spins.shape) < 0.5
    return state.replace(
        spins=jnp.where(flips, -state.spins, state.spins),
        key=key,
        n_steps=state.n_steps + state.spins.size,
        n_accepted=state.n_accepted + jnp.sum(flips),
    )


def make():
    return sweep, SpinState(spins=jnp.ones((3, 3)), key=jax.random.key(1)), ()


def make_fixed():
    state = SpinState(
        spins=jnp.ones((3, 3)),
        key=jax.random.key(1),
        n_steps=jnp.zeros((), jnp.int32),
        n_accepted=jnp.zeros((), jnp.int32),
    )
    return sweep, state, ()
