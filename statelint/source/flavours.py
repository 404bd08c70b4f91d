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
        rebuilds: JAX unflattens it through the constructor, `__post_init__` and all.
        listed: static fields may be listed where the class is registered (`meta_fields`).
    """

    name: str
    framework: Framework = "jax"
    static: tuple[tuple[str, bool], ...] = ()
    inherited: bool = True
    listed: bool = False
    rebuilds: bool = False


_STATIC = (("static", True),)
_NO_NODE = (("pytree_node", False),)

NAMED_TUPLE = Flavour("NamedTuple")
REGISTERED = Flavour("register_dataclass", static=_STATIC, inherited=False, listed=True, rebuilds=True)
FLAX_STRUCT = Flavour("flax.struct.dataclass", static=_NO_NODE, inherited=False, rebuilds=True)
PYTREE_NODE = Flavour("flax.struct.PyTreeNode", static=_NO_NODE, rebuilds=True)
TRAIN_STATE = Flavour("flax TrainState", static=_NO_NODE, rebuilds=True)
EQUINOX = Flavour("equinox.Module", framework="equinox", static=_STATIC)
NNX = Flavour("flax.nnx.Module", framework="flax.nnx")
CHEX = Flavour("chex.dataclass", inherited=False, rebuilds=True)
JAX_DATACLASSES = Flavour("jax_dataclasses.pytree_dataclass", inherited=False)
SIMPLE_PYTREE = Flavour("simple_pytree.Pytree", static=_NO_NODE)
PENZAI = Flavour("penzai.pz.pytree_dataclass", static=_NO_NODE, inherited=False)
TJAX = Flavour("tjax.dataclass", static=_STATIC, inherited=False)
NODE = Flavour("register_pytree_node", inherited=False)

BASES: dict[str, Flavour] = {
    "typing.NamedTuple": NAMED_TUPLE,
    "typing_extensions.NamedTuple": NAMED_TUPLE,
    "flax.struct.PyTreeNode": PYTREE_NODE,
    "flax.training.train_state.TrainState": TRAIN_STATE,
    "equinox.Module": EQUINOX,
    "equinox.StrictModule": EQUINOX,
    "flax.nnx.Module": NNX,
    "flax.nnx.Object": NNX,
    "flax.nnx.Pytree": NNX,
    "simple_pytree.Pytree": SIMPLE_PYTREE,
}
"""Classes whose subclasses are pytrees."""

REGISTER_DATACLASS: frozenset[str] = frozenset({"jax.tree_util.register_dataclass", "jax.tree.register_dataclass"})

REGISTER_NODE: frozenset[str] = frozenset(
    f"{module}.register_pytree_{what}"
    for module in ("jax.tree_util", "jax.tree")
    for what in ("node", "with_keys", "node_class", "with_keys_class")
)
"""Functions that register a class with its own flatten and unflatten, in a call or as a decorator."""

REGISTERS: frozenset[str] = REGISTER_DATACLASS | REGISTER_NODE | {"jax.tree_util.register_static"}
"""Functions that make JAX know a class; of a static one nothing is a leaf."""

DECORATORS: dict[str, Flavour] = {
    **dict.fromkeys(REGISTER_DATACLASS, REGISTERED),
    "flax.struct.dataclass": FLAX_STRUCT,
    "flax.nnx.dataclass": NNX,
    "chex.dataclass": CHEX,
    "chex.mappable_dataclass": CHEX,
    "jax_dataclasses.pytree_dataclass": JAX_DATACLASSES,
    "simple_pytree.dataclass": SIMPLE_PYTREE,
    "penzai.pz.pytree_dataclass": PENZAI,
    "penzai.core.struct.pytree_dataclass": PENZAI,
    "tjax.dataclass": TJAX,
    "tjax.dataclasses.dataclass": TJAX,
}
"""Decorators that make a class a pytree, bare or called."""

STATIC_ANNOTATIONS: frozenset[str] = frozenset({"jax_dataclasses.Static"})
"""Annotations that mark a static field: `Static[int]`."""

NAMED_TUPLES: frozenset[str] = frozenset({"collections.namedtuple", "typing.NamedTuple"})
"""Functions that make a NamedTuple of a name and its fields."""

PLAIN_DATACLASSES: frozenset[str] = frozenset({"dataclasses.dataclass"})
"""Decorators that make a class a dataclass and no pytree."""

_ENV_STATE = ("obs", "reward", "done", "metrics", "info")

LIBRARY_STATES: dict[str, tuple[str, ...]] = {
    "brax.envs.State": ("pipeline_state", *_ENV_STATE),
    "brax.envs.base.State": ("pipeline_state", *_ENV_STATE),
    "mujoco_playground.State": ("data", *_ENV_STATE),
    "mujoco_playground._src.mjx_env.State": ("data", *_ENV_STATE),
    "optax.EmptyState": (),
}
"""States that libraries define and others build, by their fields."""

PLAIN_BASES: frozenset[str] = frozenset(
    {
        *("object", "abc.ABC", "typing.Generic", "typing.Protocol"),
        *("typing_extensions.Generic", "typing_extensions.Protocol"),
        *("penzai.pz.Struct", "penzai.core.struct.Struct"),
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

TREE_AT: frozenset[str] = frozenset({"equinox.tree_at"})

STATE_INDEXES: frozenset[str] = frozenset({"equinox.nn.StateIndex"})
"""Classes whose one value is a leaf of an `equinox.nn.State`."""

HAIKU_STATES: dict[str, tuple[int, str]] = {"haiku.set_state": (1, "value"), "haiku.get_state": (3, "init")}
"""Functions that put a leaf of that name into haiku's state: which argument the leaf is, or gives it."""

STATE_CALLS: frozenset[str] = frozenset({*TREE_AT, *STATE_INDEXES, *HAIKU_STATES})
"""Calls that put leaves into a state, whatever else is around them."""

NNX_VARIABLES: frozenset[str] = frozenset(
    f"flax.nnx.{name}" for name in ("Variable", "Param", "BatchStat", "Cache", "Intermediate", "OptState")
)
"""Classes whose value is a leaf of a module of nnx."""

FREEZES: frozenset[str] = frozenset(
    {"flax.core.freeze", "flax.core.FrozenDict", "flax.core.frozen_dict.freeze", "flax.core.frozen_dict.FrozenDict"}
)
UNFREEZES: frozenset[str] = frozenset({"flax.core.unfreeze", "flax.core.frozen_dict.unfreeze"})
"""Functions from a dict to a FrozenDict and back."""

LOOPS: dict[str, tuple[int, int, int, str]] = {
    "jax.lax.scan": (0, 1, 0, "[0]"),
    "jax.lax.while_loop": (1, 2, 0, ""),
    "jax.lax.fori_loop": (2, 3, 1, ""),
}
"""Loops over a carry: where the body stands, where the first carry, which argument of the body the carry is,
and where it stands in what the body returns."""

EAGER_LOOPS: frozenset[str] = frozenset(
    f"jax.lax.{name}" for name in ("scan", "while_loop", "fori_loop", "cond", "switch", "map")
)
"""Loops and branches that compile for themselves where nothing around them is traced."""

TRANSFORMATIONS: frozenset[str] = frozenset({"optax.GradientTransformation", "optax.GradientTransformationExtraArgs"})
"""Pairs of `init(params)` and `update(updates, state, params)`, which returns updates and state."""

KEY_MAKERS: frozenset[str] = frozenset(f"jax.random.{name}" for name in ("key", "PRNGKey", "wrap_key_data"))
KEY_CHANGES: frozenset[str] = frozenset(
    f"jax.random.{name}" for name in ("split", "fold_in", "clone", "key_data", "key_impl", "wrap_key_data")
)
"""Functions that make keys, and those that make other keys of keys; all others use one."""

REPLACE_METHODS: frozenset[str] = frozenset({"replace", "_replace"})

PROBES: frozenset[str] = frozenset(
    f"{name}{maker}"
    for name in ("statelint.Probe", "statelint.probe.declare.Probe")
    for maker in ("", ".optimizer", ".environment")
)
