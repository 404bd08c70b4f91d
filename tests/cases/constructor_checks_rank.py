"""A registered class asserts the rank of its leaf, also when JAX puts it together with something else."""

import jax
import jax.numpy as jnp

SOURCE = ("SL604",)
PROBE = ("SL604",)


@jax.tree_util.register_pytree_node_class
class Polygon:
    def __init__(self, corners):
        if corners.ndim != 2:
            raise ValueError("corners: [n, 2]")
        self.corners = corners

    def tree_flatten(self):
        return (self.corners,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


def make():
    return lambda polygon: Polygon(polygon.corners * 0.5), Polygon(jnp.ones((4, 2))), ()


def make_fixed():
    @jax.tree_util.register_pytree_node_class
    class Polygon:
        def __init__(self, corners):
            self.corners = corners

        def tree_flatten(self):
            return (self.corners,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    return lambda polygon: Polygon(polygon.corners * 0.5), Polygon(jnp.ones((4, 2))), ()
