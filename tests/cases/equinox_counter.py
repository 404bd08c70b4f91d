"""An equinox module counts its updates in a Python int, which filter_jit holds static."""

import equinox as eqx
import jax
import jax.numpy as jnp

SOURCE = ("SL101",)
PROBE = ("SL202", "SL101")
WRAP = eqx.filter_jit


class Teacher(eqx.Module):
    weight: jax.Array
    num_updates: int


def distil(teacher, student):
    return Teacher(0.9 * teacher.weight + 0.1 * student, teacher.num_updates + 1)


def make():
    return distil, Teacher(jnp.ones(3), 0), (jnp.zeros(3),)


def make_fixed():
    return distil, Teacher(jnp.ones(3), jnp.zeros((), jnp.int32)), (jnp.zeros(3),)
