"""optax's line search starts from Python-number guesses that its update replaces by arrays."""

import jax
import jax.numpy as jnp
import optax

SOURCE = ()
PROBE = ("SL304",)

optimizer = optax.chain(optax.sgd(0.5), optax.scale_by_backtracking_linesearch(max_backtracking_steps=3))


def bowl(point):
    return jnp.sum((point - 1.0) ** 2)


def descend(state):
    point, search = state
    value, slope = jax.value_and_grad(bowl)(point)
    change, search = optimizer.update(slope, search, point, value=value, grad=slope, value_fn=bowl)
    return optax.apply_updates(point, change), search


def make():
    point = jnp.full(4, 3.0, jnp.float32)
    return descend, (point, optimizer.init(point)), ()
