"""A target that is not known yet is NaN, in a static field: it never equals itself made anew."""

import dataclasses

import jax
import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL205",)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Search:
    position: jax.Array
    best: float = dataclasses.field(metadata={"static": True}, default=float("nan"))


def forget(search):
    return Search(search.position * 0.9, best=float("nan"))


def keep(search):
    return dataclasses.replace(search, position=search.position * 0.9)


def make():
    return forget, Search(jnp.ones(3), best=float("nan")), ()


def make_fixed():
    return keep, Search(jnp.ones(3), best=-1.0), ()
