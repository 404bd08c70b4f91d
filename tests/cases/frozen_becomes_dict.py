"""The state holds a FrozenDict, and the step gives back a dict."""

import jax.numpy as jnp
from flax.core import FrozenDict, freeze

SOURCE = ()
PROBE = ("SL301",)


def thaw_and_decay(state):
    return {"variables": {name: value * 0.9 for name, value in state["variables"].items()}}


def decay(state):
    return {"variables": freeze({name: value * 0.9 for name, value in state["variables"].items()})}


def make():
    return thaw_and_decay, {"variables": FrozenDict({"kernel": jnp.ones(3)})}, ()


def make_fixed():
    return decay, {"variables": FrozenDict({"kernel": jnp.ones(3)})}, ()
