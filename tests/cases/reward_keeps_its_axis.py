"""`reset` gives scalars; `step` gives a reward of one element, and a weak flag."""

from typing import Any

import jax
import jax.numpy as jnp
from flax import struct

SOURCE = ()
PROBE = ("SL303",)


@struct.dataclass
class Arm:
    joints: jax.Array
    reward: jax.Array
    metrics: dict[str, Any]


def reset():
    return Arm(joints=jnp.zeros(3), reward=jnp.zeros(()), metrics={"alive": jnp.zeros(()), "reach": jnp.zeros(())})


def act(arm, torque):
    joints = arm.joints + torque
    return arm.replace(
        joints=joints,
        reward=jnp.sum(jnp.cos(joints), keepdims=True),
        metrics={"alive": jnp.where(joints[0] < 2, 1.0, 0.0), "reach": joints[-1]},
    )


def act_in_shape(arm, torque):
    joints = arm.joints + torque
    return arm.replace(
        joints=joints,
        reward=jnp.sum(jnp.cos(joints)),
        metrics={"alive": (joints[0] < 2).astype(jnp.float32), "reach": joints[-1]},
    )


def make():
    return act, reset(), (jnp.ones(3),)


def make_fixed():
    return act_in_shape, reset(), (jnp.ones(3),)
