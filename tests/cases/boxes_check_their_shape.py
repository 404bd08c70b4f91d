"""A class of boxes checks its array's shape whenever JAX puts it together."""

import jax
import jax.numpy as jnp

SOURCE = ("SL604",)
PROBE = ("SL604",)


@jax.tree_util.register_pytree_node_class
class CheckedBoxes:
    def __init__(self, corners):
        if corners.ndim < 2 or corners.shape[-1] != 4:
            raise ValueError("boxes have four corners")
        self.corners = corners

    def tree_flatten(self):
        return (self.corners,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children)


def make():
    return lambda boxes: CheckedBoxes(boxes.corners * 2), CheckedBoxes(jnp.ones((2, 4))), ()


def make_fixed():
    @jax.tree_util.register_pytree_node_class
    class Boxes:
        def __init__(self, corners):
            self.corners = corners

        def tree_flatten(self):
            return (self.corners,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            boxes = object.__new__(cls)
            (boxes.corners,) = children
            return boxes

    return lambda boxes: Boxes(boxes.corners * 2), Boxes(jnp.ones((2, 4))), ()
