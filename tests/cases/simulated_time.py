"""A simulator's clock starts as an array without a dtype, and time steps are float32."""

import jax
import jax.numpy as jnp
from flax import struct

SOURCE = ("SL103",)
PROBE = ("SL304",)


@struct.dataclass
class Pendulum:
    angle: jax.Array
    velocity: jax.Array
    time: jax.Array


def integrate(body, torque):
    dt = jnp.float32(0.01)
    velocity = body.velocity + dt * (torque - jnp.sin(body.angle))
    return body.replace(angle=body.angle + dt * velocity, velocity=velocity, time=body.time + dt)


def make():
    return integrate, Pendulum(angle=jnp.ones(2), velocity=jnp.zeros(2), time=jnp.array(0.0)), (jnp.zeros(2),)


def make_fixed():
    body = Pendulum(angle=jnp.ones(2), velocity=jnp.zeros(2), time=jnp.zeros((), jnp.float32))
    return integrate, body, (jnp.zeros(2),)
