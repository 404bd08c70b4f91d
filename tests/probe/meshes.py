"""Steps over several devices, for a process that has four."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, NamedSharding, PartitionSpec

try:
    from jax import shard_map
except ImportError:  # before jax 0.7
    from jax.experimental.shard_map import shard_map

STEPS: dict[str, Any] = {}
"""By name, a function that gives a fresh step, the state or its factory, and the other arguments."""


def mesh_of(kind, **axes):
    # The tests read the names of the steps where there is one device.
    is_there = jax.device_count() == 4
    sizes = tuple(axes.values()) if is_there else (1,) * len(axes)
    return jax.make_mesh(sizes, tuple(axes), axis_types=(kind,) * len(axes))


AUTO = mesh_of(AxisType.Auto, data=4)
SQUARE = mesh_of(AxisType.Auto, data=2, model=2)
EXPLICIT = mesh_of(AxisType.Explicit, data=4)


def step(function):
    STEPS[function.__name__] = function
    return function


def on(mesh, *axes):
    return NamedSharding(mesh, PartitionSpec(*axes))


def placed(mesh, *axes, shape=(8, 4)):
    return jax.device_put(jnp.ones(shape), on(mesh, *axes))


def count():
    return jnp.zeros((), jnp.int32)


def train(state):
    return {"w": state["w"] * 0.9, "n": state["n"] + 1}


# --- what commits a state


@step
def counter_not_on_the_mesh():
    return train, lambda: {"w": placed(AUTO, "data"), "n": count()}, ()


@step
def counter_on_the_mesh():
    return train, lambda: {"w": placed(AUTO, "data"), "n": jax.device_put(count(), on(AUTO))}, ()


@step
def python_counter_beside_the_mesh():
    return train, lambda: {"w": placed(AUTO, "data"), "n": 0}, ()


@step
def committed_to_the_second_device():
    return train, lambda: jax.device_put({"w": jnp.ones(3), "n": count()}, jax.devices()[-1]), ()


@step
def shardings_named_by_the_jit():
    return jax.jit(train, out_shardings=on(AUTO)), lambda: {"w": jnp.ones(3), "n": count()}, ()


@step
def inputs_placed_by_the_jit():
    return jax.jit(train, in_shardings=on(AUTO)), lambda: {"w": jnp.ones(3), "n": count()}, ()


@step
def constraint_on_one_leaf():
    def constrained(state):
        return train(state | {"w": lax.with_sharding_constraint(state["w"], on(AUTO))})

    return constrained, lambda: {"w": jnp.ones(3), "n": count()}, ()


@step
def constraint_inside_a_scan():
    def constrained(x, _):
        return lax.with_sharding_constraint(x * 0.9, on(AUTO)), None

    return lambda x: lax.scan(constrained, x, None, length=3)[0], lambda: jnp.ones(3), ()


@step
def spread_by_a_constraint():
    spread = on(AUTO, "data")
    return lambda x: lax.with_sharding_constraint(x * 2, spread), lambda: placed(AUTO), ()


@step
def argument_on_the_mesh():
    return lambda n, x: n + x.sum().astype(jnp.int32), count, (placed(AUTO, "data"),)


@step
def argument_on_a_device():
    return lambda n, x: n + x, count, (jax.device_put(count(), jax.devices()[0]),)


@step
def argument_that_is_never_used():
    return lambda n, x: n + 1, count, (placed(AUTO, "data"),)


@step
def leaf_that_is_made_anew():
    def anew(state):
        return {"w": state["w"] * 0.9, "m": jnp.zeros_like(state["m"])}

    return anew, lambda: {"w": placed(AUTO, "data"), "m": placed(AUTO, "data")}, ()


@step
def constant_on_a_device():
    scale = jax.device_put(jnp.float32(2), jax.devices()[0])
    return lambda x: x * scale, lambda: jnp.ones(3), ()


@step
def device_put_inside():
    return lambda x: jax.device_put(x * 2, jax.devices()[0]), lambda: jnp.ones(3), ()


@step
def device_put_on_the_mesh_inside():
    return lambda x: jax.device_put(x * 2, on(AUTO)), lambda: jnp.ones(3), ()


@step
def mapped_over_shards():
    spec = PartitionSpec("data")
    return shard_map(lambda x: x * 2, mesh=AUTO, in_specs=spec, out_specs=spec), lambda: placed(AUTO, "data"), ()


@step
def state_of_a_jitted_factory():
    shardings = {"w": on(AUTO), "n": on(AUTO)}
    return train, jax.jit(lambda: {"w": jnp.ones(3), "n": count()}, out_shardings=shardings), ()


@step
def moments_like_placed_params():
    def create():
        params = placed(AUTO, "data")
        return {"w": params, "m": jnp.zeros_like(params)}

    return lambda s: {"w": s["w"] - s["m"], "m": 0.9 * s["m"] + s["w"]}, create, ()


@step
def placeholders_with_shardings():
    state = {"w": jax.ShapeDtypeStruct((8, 4), jnp.float32, sharding=on(AUTO, "data")), "n": "i32[]"}
    return train, state, ()


@step
def donated_over_the_mesh():
    state = {"w": placed(AUTO, "data"), "n": jax.device_put(count(), on(AUTO))}
    return jax.jit(train, donate_argnums=0), lambda: jax.tree.map(jnp.copy, state), ()


@step
def donated_and_gathered():
    gather = jax.jit(lambda x: x * 2, donate_argnums=0, out_shardings=on(AUTO))
    return gather, lambda: placed(AUTO, "data"), ()


# --- what the compiler chooses


@step
def moments_that_follow_their_params():
    def update(s):
        return {"w": s["w"] - s["m"], "m": 0.9 * s["m"] + s["w"]}

    return update, lambda: {"w": placed(SQUARE, "data", "model"), "m": placed(SQUARE)}, ()


@step
def product_with_the_transposed():
    return lambda x: x.T @ x, lambda: placed(AUTO, "data", shape=(4, 4)), ()


@step
def gradient_over_a_sharded_batch():
    def descend(state, x):
        return {"w": state["w"] - 0.1 * (x.T @ (x @ state["w"])), "n": state["n"] + 1}

    state = {"w": placed(AUTO, shape=(4, 3)), "n": jax.device_put(count(), on(AUTO))}
    return descend, lambda: jax.tree.map(jnp.copy, state), (placed(AUTO, "data"),)


# --- what explicit axes say


@step
def explicit():
    return train, lambda: {"w": placed(EXPLICIT, "data"), "n": jax.device_put(count(), on(EXPLICIT))}, ()


@step
def explicit_counter_not_on_the_mesh():
    return train, lambda: {"w": placed(EXPLICIT, "data"), "n": count()}, ()


@step
def explicit_sum_follows_its_parts():
    def add(state):
        return {"sum": state["sum"] + state["w"].sum(1), "w": state["w"] * 0.9}

    return add, lambda: {"sum": placed(EXPLICIT, shape=(8,)), "w": placed(EXPLICIT, "data")}, ()


@step
def explicit_transposed():
    return lambda x: x.T * 2, lambda: placed(EXPLICIT, "data", shape=(4, 4)), ()


@step
def explicit_zeros():
    def anew(state):
        return {"w": state["w"] + state["m"], "m": jnp.zeros((8, 4))}

    return anew, lambda: {"w": placed(EXPLICIT, "data"), "m": placed(EXPLICIT, "data")}, ()


# --- under a mesh that is set for all computations


def in_a_mesh(mesh):
    """Enter a function under its name and the kind of the mesh, within which it is observed."""

    def enter(function):
        IN_A_MESH[f"{function.__name__}_{mesh.axis_types[0].name.lower()}"] = (mesh, function)
        return function

    return enter


IN_A_MESH: dict[str, Any] = {}


@in_a_mesh(AUTO)
@in_a_mesh(EXPLICIT)
def made_in_the_mesh():
    return train, lambda: {"w": jnp.ones((8, 4)), "n": count()}, ()


@in_a_mesh(AUTO)
@in_a_mesh(EXPLICIT)
def declared_in_the_mesh():
    return train, {"w": jax.ShapeDtypeStruct((8, 4), jnp.float32), "n": "i32[]"}, ()


@in_a_mesh(AUTO)
@in_a_mesh(EXPLICIT)
def python_counter():
    return train, lambda: {"w": jnp.ones((8, 4)), "n": 0}, ()


@in_a_mesh(AUTO)
def constraint_by_axes():
    spread = PartitionSpec("data")
    return lambda x: lax.with_sharding_constraint(x * 2, spread), lambda: jnp.ones((8, 4)), ()


@in_a_mesh(EXPLICIT)
def zeros_in_the_mesh():
    def anew(state):
        return {"w": state["w"] * 0.9, "m": jnp.zeros_like(state["w"])}

    return anew, lambda: {"w": placed(EXPLICIT, "data"), "m": jnp.ones((8, 4))}, ()


CHOSEN = ("moments_that_follow_their_params", "product_with_the_transposed")
"""Those in which the compiler puts a leaf elsewhere."""
