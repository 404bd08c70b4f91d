"""More steps over several devices: leaves that jit drops, and those that it moves by itself, or does not take."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import SingleDeviceSharding

from tests.probe.meshes import AUTO, SQUARE, count, on, placed, step, train

ONE = jax.sharding.Mesh(jax.devices()[:1], ("data",))

CHOSEN = ("unread_beside_a_sharded_batch",)
"""Those in which the compiler puts a leaf elsewhere."""


def second(state):
    return {"w": state["w"] * 2, "m": state["w"] + 1}


# --- leaves that jit drops


def measured(state):
    return {"w": state["w"] * 0.9, "loss": state["w"].sum()}


@step
def unread_beside_a_mesh():
    return measured, lambda: {"w": placed(AUTO, "data"), "loss": jnp.zeros(())}, ()


@step
def unread_beside_a_mesh_of_one():
    return measured, lambda: {"w": placed(ONE), "loss": jnp.zeros(())}, ()


@step
def a_mesh_of_one_and_its_device():
    def init():
        return {"m": placed(ONE, "data"), "w": jax.device_put(jnp.ones((8, 4)), jax.devices()[0])}

    return lambda state: {"m": state["m"] * 2, "w": state["w"] + 1}, init, ()


@step
def unread_numpy_beside_a_mesh():
    return measured, lambda: {"w": placed(AUTO), "loss": np.float32(0)}, ()


@step
def unread_key_beside_a_mesh():
    def anew(state):
        return {"w": state["w"] * 0.9, "key": jax.random.PRNGKey(1)}

    return anew, lambda: {"w": placed(AUTO, "data"), "key": jax.random.PRNGKey(0)}, ()


@step
def unread_beside_a_device():
    return measured, lambda: {"w": jax.device_put(jnp.ones(3), jax.devices()[-1]), "loss": jnp.zeros(())}, ()


@step
def unread_and_all_on_the_mesh():
    return measured, lambda: {"w": placed(AUTO), "loss": jax.device_put(jnp.zeros(()), on(AUTO))}, ()


@step
def unread_on_another_mesh():
    return second, lambda: {"w": placed(AUTO), "m": placed(SQUARE)}, ()


@step
def unread_with_another_spec():
    return second, lambda: {"w": placed(AUTO), "m": placed(AUTO, "data")}, ()


@step
def unread_on_another_device():
    first, other = jax.devices()[0], jax.devices()[-1]
    return second, lambda: {"w": jax.device_put(jnp.ones(3), first), "m": jax.device_put(jnp.ones(3), other)}, ()


@step
def unread_beside_a_batch_on_the_mesh():
    return lambda s, x: {"loss": x.sum()}, lambda: {"loss": jnp.zeros(())}, (placed(AUTO, "data"),)


@step
def unread_and_the_result_constrained():
    def constrained(state):
        return {"m": lax.with_sharding_constraint(jnp.ones(8), on(AUTO, "data"))}

    return constrained, lambda: {"m": jnp.zeros(8)}, ()


@step
def unread_beside_a_sharded_batch():
    def descend(state, x):
        return {"w": state["w"] * 2, "loss": (x * state["w"]).sum()}

    state = {"w": placed(AUTO), "loss": jax.device_put(jnp.zeros(()), on(AUTO))}
    return descend, lambda: dict(state), (placed(AUTO, "data"),)


@step
def unread_and_kept():
    kept = jax.jit(measured, keep_unused=True)
    return kept, lambda: {"w": jax.device_put(jnp.ones(3), jax.devices()[0]), "loss": jnp.zeros(())}, ()


@step
def unread_and_kept_inside():
    kept = jax.jit(measured, keep_unused=True)
    state = {"w": jax.device_put(jnp.ones(3), jax.devices()[0]), "loss": jnp.zeros(())}
    return lambda s: kept(s), lambda: dict(state), ()


@step
def argument_that_is_kept():
    return jax.jit(lambda n, x: n + 1, keep_unused=True), count, (placed(AUTO, "data"),)


# --- what the jit moves by itself


@step
def moved_to_the_mesh_by_the_jit():
    moved = jax.jit(train, in_shardings=on(AUTO))
    return moved, lambda: jax.device_put({"w": jnp.ones(3), "n": count()}, jax.devices()[0]), ()


@step
def moved_to_a_device_by_the_jit():
    moved = jax.jit(train, in_shardings=SingleDeviceSharding(jax.devices()[-1]))
    return moved, lambda: jax.device_put({"w": jnp.ones(3), "n": count()}, jax.devices()[0]), ()


# --- what jit refuses


REFUSED: dict[str, Any] = {}
"""By name, the call that jit refuses, and the function."""


def refused(call):
    def enter(function):
        REFUSED[function.__name__] = (call, function)
        return function

    return enter


@refused(1)
def two_devices():
    first, other = jax.devices()[0], jax.devices()[-1]
    return train, lambda: {"w": jax.device_put(jnp.ones(3), first), "n": jax.device_put(count(), other)}, ()


@refused(1)
def a_device_and_a_mesh():
    return train, lambda: {"w": placed(AUTO), "n": jax.device_put(count(), jax.devices()[0])}, ()


@refused(1)
def two_devices_where_what_is_unread_is_kept():
    first, other = jax.devices()[0], jax.devices()[-1]
    kept = jax.jit(second, keep_unused=True)
    return kept, lambda: {"w": jax.device_put(jnp.ones(3), first), "m": jax.device_put(jnp.ones(3), other)}, ()


@refused(1)
def constrained_to_other_devices():
    def constrained(x):
        return lax.with_sharding_constraint(x + 1, on(AUTO))

    return constrained, lambda: jax.device_put(jnp.ones(3), jax.devices()[0]), ()


@refused(1)
def argument_elsewhere_than_the_results():
    add = jax.jit(lambda x, y: x + y, out_shardings=SingleDeviceSharding(jax.devices()[-1]))
    return add, lambda: jnp.ones(3), (jax.device_put(jnp.ones(3), jax.devices()[0]),)


@refused(1)
def in_shardings_that_cut_otherwise():
    return jax.jit(lambda x: x + 1, in_shardings=on(AUTO, "data")), lambda: placed(AUTO), ()


@refused(2)
def out_shardings_that_cut_otherwise():
    gathered = jax.jit(lambda x: x + 1, in_shardings=on(AUTO, "data"), out_shardings=on(AUTO))
    return gathered, lambda: jnp.ones(8), ()
