"""An optimizer's tuple comes back from disk as a list, which the step's `cond` does not take."""

import jax
import jax.numpy as jnp
import optax

SOURCE = ()
PROBE = ("SL301", "SL902")

optimizer = optax.chain(optax.clip(0.5), optax.adam(1e-2))


def guarded(state):
    weight, moments = state
    change, moved = optimizer.update(weight, moments, weight)
    moments = jax.lax.cond(jnp.all(jnp.isfinite(change)), lambda: moved, lambda: moments)
    return optax.apply_updates(weight, change), moments


def make():
    weight = jnp.ones(3)
    return guarded, (weight, list(optimizer.init(weight))), ()


def make_fixed():
    weight = jnp.ones(3)
    return guarded, (weight, optimizer.init(weight)), ()
