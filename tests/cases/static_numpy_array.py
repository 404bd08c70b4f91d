"""A registered dataclass marks a NumPy array static, and each step makes it anew."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

SOURCE = ("SL203",)
PROBE = ("SL203",)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Ensemble:
    members: jax.Array
    order: np.ndarray = dataclasses.field(metadata={"static": True})


def shuffle(ensemble):
    return Ensemble(members=ensemble.members + 1, order=ensemble.order[::-1].copy())


def make():
    return shuffle, Ensemble(members=jnp.zeros(3), order=np.arange(3)), ()


def make_fixed():
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Ordered:
        members: jax.Array
        order: tuple = dataclasses.field(metadata={"static": True})

    def advance(ensemble):
        return Ordered(members=ensemble.members + 1, order=ensemble.order)

    return advance, Ordered(members=jnp.zeros(3), order=(0, 1, 2)), ()
