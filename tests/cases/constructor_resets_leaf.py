"""A registered class sets one of its leaves anew whenever it is put together, so that no step changes it."""

import jax
import jax.numpy as jnp
import numpy as np

SOURCE = ("SL604",)
PROBE = ("SL604", "SL602")


@jax.tree_util.register_pytree_node_class
class Settings:
    def __init__(self, values):
        self.values = dict(values)
        self.values["scale"] = np.ones((), np.float32)

    def tree_flatten(self):
        return (self.values,), None

    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(children[0])


def make():
    return lambda settings: jax.tree.map(lambda leaf: leaf * 2, settings), Settings({"bias": jnp.zeros(2)}), ()
