"""A list outside the tree: it works until someone changes it in place."""

import jax
import jax.numpy as jnp
from flax import struct

SOURCE = ("SL204",)
PROBE = ("SL204",)


@struct.dataclass
class Stack:
    total: jax.Array
    layers: list = struct.field(pytree_node=False)


def run(stack):
    return stack.replace(total=stack.total + sum(stack.layers))


def make():
    return run, Stack(total=jnp.zeros(2), layers=[8, 4]), ()


def make_fixed():
    return run, Stack(total=jnp.zeros(2), layers=(8, 4)), ()
