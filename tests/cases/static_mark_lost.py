"""A subclass declares its static shape again and forgets the mark: the shape becomes a tracer."""

import jax
import jax.numpy as jnp
from flax import struct

SOURCE = ("SL605",)
PROBE = ("SL902",)


@struct.dataclass
class Grid:
    cells: jax.Array
    extent: tuple = struct.field(pytree_node=False, default=(2, 3))


@struct.dataclass
class Torus(Grid):
    extent: tuple = (2, 3)


def diffuse(grid):
    return grid.replace(cells=jnp.zeros(grid.extent) + 0.5 * grid.cells)


def make():
    return diffuse, Torus(cells=jnp.ones((2, 3))), ()


def make_fixed():
    return diffuse, Grid(cells=jnp.ones((2, 3))), ()
