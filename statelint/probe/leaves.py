"""Leaves: what jit takes as one, what it makes of it, and JAX's own notation for the abstract ones."""

from __future__ import annotations

import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

DTYPES = {"f": "float", "bf": "bfloat", "i": "int", "u": "uint", "c": "complex"}
KEY_IMPLS = {
    "fry": "threefry2x32",
    "threefry2x32": "threefry2x32",
    "rbg": "rbg",
    "urbg": "unsafe_rbg",
    "unsafe_rbg": "unsafe_rbg",
}
NOTATION = re.compile(r"(?P<weak>~?)(?P<dtype>key<\w+>|[a-z]\w*)\[(?P<shape>[\d, ]*)\]")
BEGINNING = re.compile(r"~?(key<\w*>?|(bf|f|i|u|c)\d+\w*|bool|b?float\d+|u?int\d+|complex\d+)\[")


class NotationError(ValueError):
    """A string that looks like JAX's notation and is not."""


def is_array(leaf: Any) -> bool:
    """A jax array, concrete or traced, a NumPy array or scalar, or a placeholder for one."""
    return isinstance(leaf, jax.Array | np.ndarray | np.generic | jax.ShapeDtypeStruct)


def is_jit_leaf(leaf: Any) -> bool:
    """Whether `jax.jit` takes it as an argument."""
    if isinstance(leaf, np.ndarray | np.generic):
        return leaf.dtype.kind in "biufcV"
    return is_array(leaf) or isinstance(leaf, bool | int | float | complex)


def abstract(leaf: Any) -> jax.ShapeDtypeStruct:
    """The aval of a leaf that jit takes, with its weak type.

    Returns:
        a placeholder of the leaf's shape, canonical dtype and weak type. Nothing is allocated.
    """
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf
    # eval_shape makes of a leaf what jit makes of it, Python numbers and 64-bit NumPy arrays too.
    shaped = jax.eval_shape(lambda x: x, leaf)
    return jax.ShapeDtypeStruct(shaped.shape, shaped.dtype, weak_type=bool(shaped.weak_type))


def strong(aval: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
    """The same shape and dtype without the weak type: what a checkpoint brings back."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def at(aval: jax.ShapeDtypeStruct, place: Any) -> jax.ShapeDtypeStruct:
    """The same leaf, committed to a sharding; None: to none."""
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=bool(aval.weak_type), sharding=place)


def nbytes(aval: jax.ShapeDtypeStruct) -> int:
    """Bytes of a leaf of this aval."""
    return int(math.prod(aval.shape)) * int(aval.dtype.itemsize)


def zeros(aval: jax.ShapeDtypeStruct) -> Any:
    """A concrete stand-in, at the place of the aval where it has one."""
    if jnp.issubdtype(aval.dtype, jax.dtypes.prng_key):
        implementation = KEY_IMPLS[str(aval.dtype)[4:-1]]
        made = jnp.broadcast_to(jax.random.key(0, impl=implementation), aval.shape)
    else:
        made = jnp.zeros(aval.shape, aval.dtype)
    return made if aval.sharding is None else jax.device_put(made, aval.sharding)


def from_notation(text: str) -> jax.ShapeDtypeStruct | None:
    """A placeholder for `"f32[16,8]"`, `"i32[]"`, `"bool[4]"`, `"key<fry>[]"`, or a long name such as `"float32[16]"`;
    a leading `~` makes it weak.

    Returns:
        None when the text is not of this form at all.

    Raises:
        NotationError: it begins like this form, but is malformed or names no dtype.
    """
    match = NOTATION.fullmatch(text.strip())
    if match is None:
        if BEGINNING.match(text.strip()):
            raise NotationError(f'"{text}" is not JAX\'s notation, which is written like "f32[16,8]"')
        return None
    shape = tuple(int(size) for size in match["shape"].split(",") if size.strip())
    return jax.ShapeDtypeStruct(shape, _dtype(match["dtype"], text), weak_type=bool(match["weak"]))


def _dtype(name: str, text: str) -> Any:
    if name.startswith("key<"):
        if (implementation := KEY_IMPLS.get(name[4:-1])) is None:
            raise NotationError(f'"{text}": no such PRNG key; use one of key<fry>, key<rbg>, key<urbg>')
        # jax.random.key is the public way to the extended dtype of an implementation.
        return jax.eval_shape(lambda: jax.random.key(0, impl=implementation)).dtype
    if short := re.fullmatch(r"(f|bf|i|u|c)(\d+)(_\w+)?", name):
        # float8 and narrower write their layout behind the width: f8_e4m3fn is float8_e4m3fn.
        name = DTYPES[short[1]] + short[2] + (short[3] or "")
    try:
        # canonical, as jit makes it: float64 is float32 unless 64-bit types are enabled.
        return jax.dtypes.canonicalize_dtype(jnp.dtype(name))
    except TypeError:
        known = "; a PRNG key is key<fry>[]" if name == "key" else ""
        raise NotationError(f'"{text}": no such dtype{known}') from None


def resolve_notation(tree: Any) -> Any:
    """A tree of arguments with every string of the notation, in tuples, lists and dicts, made a placeholder.

    Other strings, and other containers, stay as they are.
    """
    if isinstance(tree, str):
        shaped = from_notation(tree)
        return tree if shaped is None else shaped
    if type(tree) is dict:
        return {key: resolve_notation(value) for key, value in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(resolve_notation(value) for value in tree)
    return tree
