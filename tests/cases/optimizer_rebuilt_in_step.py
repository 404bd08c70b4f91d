"""The step puts a new optax transform in the static field of a flax TrainState."""

import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

SOURCE = ("SL205",)
PROBE = ("SL202",)


def apply(params, x):
    return params["w"] @ x


def descend(state, x):
    gradients = jax.grad(lambda params: jnp.sum(state.apply_fn(params, x) ** 2))(state.params)
    return state.apply_gradients(grads=gradients)


def descend_rebuilt(state, x):
    return descend(state, x).replace(tx=optax.sgd(1e-2, momentum=0.9))


def start(step):
    state = TrainState.create(apply_fn=apply, params={"w": jnp.ones((2, 3))}, tx=optax.sgd(1e-2, momentum=0.9))
    return step, state.replace(step=jnp.zeros((), jnp.int32)), (jnp.ones(3),)


def make():
    return start(descend_rebuilt)


def make_fixed():
    return start(descend)
