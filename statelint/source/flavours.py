"""How each library spells a pytree class, a static field, a jit and a transformation: tables, no logic."""

from __future__ import annotations

import msgspec

from statelint.model.source import Framework


class Flavour(msgspec.Struct, frozen=True):
    """A way to make a class a pytree.

    Attributes:
        static: the marks of a static field that this flavour heeds: a keyword and its value
            (`pytree_node=False`), given to the field's call or in its `metadata`.
        inherited: subclasses are pytrees too, without a mark of their own.
        listed: static fields may be listed where the class is registered (`meta_fields`).
    """

    name: str
    framework: Framework = "jax"
    static: tuple[tuple[str, bool], ...] = ()
    inherited: bool = True
    listed: bool = False


NAMED_TUPLE = Flavour("NamedTuple")
REGISTERED = Flavour("register_dataclass", static=(("static", True),), inherited=False, listed=True)
FLAX_STRUCT = Flavour("flax.struct.dataclass", static=(("pytree_node", False),), inherited=False)
PYTREE_NODE = Flavour("flax.struct.PyTreeNode", static=(("pytree_node", False),))
TRAIN_STATE = Flavour("flax TrainState", static=(("pytree_node", False),))
EQUINOX = Flavour("equinox.Module", framework="equinox", static=(("static", True),))
CHEX = Flavour("chex.dataclass", inherited=False)

BASES: dict[str, Flavour] = {
    "typing.NamedTuple": NAMED_TUPLE,
    "typing_extensions.NamedTuple": NAMED_TUPLE,
    "flax.struct.PyTreeNode": PYTREE_NODE,
    "flax.training.train_state.TrainState": TRAIN_STATE,
    "equinox.Module": EQUINOX,
    "equinox.StrictModule": EQUINOX,
}
"""Classes whose subclasses are pytrees."""

REGISTER_DATACLASS: frozenset[str] = frozenset({"jax.tree_util.register_dataclass", "jax.tree.register_dataclass"})

DECORATORS: dict[str, Flavour] = {
    **dict.fromkeys(REGISTER_DATACLASS, REGISTERED),
    "flax.struct.dataclass": FLAX_STRUCT,
    "chex.dataclass": CHEX,
    "chex.mappable_dataclass": CHEX,
}
"""Decorators that make a class a pytree, bare or called."""

PLAIN_BASES: frozenset[str] = frozenset(
    {
        *("object", "abc.ABC", "typing.Generic", "typing.Protocol"),
        *("typing_extensions.Generic", "typing_extensions.Protocol"),
    }
)
"""Bases that add no fields."""

TRAIN_STATE_FIELDS: tuple[tuple[str, bool], ...] = (
    ("step", False),
    ("apply_fn", True),
    ("params", False),
    ("tx", True),
    ("opt_state", False),
)
"""The fields of flax's TrainState, and which of them are static."""

JITS: dict[str, Framework] = {
    "jax.jit": "jax",
    "jax.pmap": "jax",
    "jax.pjit": "jax",
    "jax.experimental.pjit.pjit": "jax",
    "equinox.filter_jit": "equinox",
    "equinox.filter_pmap": "equinox",
    "flax.nnx.jit": "flax.nnx",
    "flax.nnx.pmap": "flax.nnx",
}
"""Calls and decorators that compile a function, and whose rules the state is split by."""

DONATIONS: frozenset[str] = frozenset({"donate_argnums", "donate_argnames", "donate"})
"""Keywords by which a jit donates."""

_LAX = ("scan", "while_loop", "fori_loop", "cond", "switch", "map", "associative_scan", "custom_root")
_JAX = (
    *("vmap", "grad", "value_and_grad", "jacfwd", "jacrev", "hessian", "vjp", "jvp", "linearize"),
    *("checkpoint", "remat"),
    *("custom_vjp", "custom_jvp", "eval_shape", "make_jaxpr", "shard_map"),
)
_EQUINOX = (
    "vmap",
    "grad",
    "value_and_grad",
    "jacfwd",
    "jacrev",
    "hessian",
    "eval_shape",
    "make_jaxpr",
    "vjp",
)
_NNX = ("vmap", "grad", "value_and_grad", "scan", "remat", "eval_shape", "cond", "while_loop", "fori_loop")

TRANSFORMS: frozenset[str] = frozenset(
    {
        *JITS,
        *(f"jax.lax.{name}" for name in _LAX),
        *(f"jax.{name}" for name in _JAX),
        *(f"equinox.filter_{name}" for name in _EQUINOX),
        *(f"flax.nnx.{name}" for name in _NNX),
        "jax.experimental.shard_map.shard_map",
        "equinox.internal.while_loop",
        "equinox.internal.scan",
    }
)
"""Calls that trace the functions they are given."""

PARTIALS: frozenset[str] = frozenset({"functools.partial"})

REPLACE_FUNCTIONS: frozenset[str] = frozenset({"dataclasses.replace", "copy.replace", "chex.replace"})
"""Functions that copy their first argument with some fields replaced."""

REPLACE_METHODS: frozenset[str] = frozenset({"replace", "_replace"})

PROBES: frozenset[str] = frozenset({"statelint.Probe", "statelint.probe.declare.Probe"})
