"""What library functions give: an array, and the family of its dtype."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import msgspec

from statelint.source.outline import Outline
from statelint.source.symbols import UNKNOWN, Dtype, Value
from statelint.source.terms import dotted

_NUMPY = ("jax.numpy.", "numpy.")

_LIKE = frozenset({"zeros_like", "ones_like", "full_like", "empty_like", "sum", "cumsum", "max", "min", "abs", "sort"})
_LIKE |= {"reshape", "ravel", "squeeze", "expand_dims", "transpose", "flip", "roll", "copy", "broadcast_to", "tile"}
"""Functions whose result has the dtype of their first argument; a sum of bools is an int."""

_MADE = frozenset({"zeros", "ones", "empty", "eye", "identity", "linspace"})
"""Functions that give floats when they are given no dtype."""

_FLOATS = frozenset({"mean", "std", "var", "sqrt", "exp", "log", "sin", "cos", "tanh"})

_DTYPE_AT = {"zeros": 1, "ones": 1, "empty": 1, "asarray": 1, "array": 1, "zeros_like": 1, "ones_like": 1}
_DTYPE_AT |= {"full": 2, "full_like": 2}

_NO_ARRAYS = frozenset({"shape", "ndim", "size", "dtype", "finfo", "iinfo", "issubdtype", "result_type"})
_NO_ARRAYS |= {"promote_types", "split", "array_split", "meshgrid", "unique", "nonzero", "iscomplexobj", "isscalar"}
"""Functions that give no array, or several, or no kind that is told here."""

_RANDOM: dict[str, Dtype] = {
    **dict.fromkeys(("normal", "uniform", "gumbel", "exponential", "beta", "gamma", "laplace", "cauchy"), "float"),
    **dict.fromkeys(("randint", "categorical", "poisson"), "int"),
    "bernoulli": "bool",
}


def dtype_named(node: ast.expr | None, outline: Outline) -> Dtype:
    """The family of a dtype as written: `jnp.int32`, `"float32"`, `int`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        last = node.value
    elif node is not None:
        last = outline.absolute(dotted(node)).rpartition(".")[2]
    else:
        return ""
    bare = last.rstrip("0123456789_")
    return {"int": "int", "uint": "int", "float": "float", "bfloat": "float", "bool": "bool"}.get(bare, "")  # type: ignore[return-value]


def result(name: str, call: ast.Call, values: Sequence[Value], words: dict[str, Value], outline: Outline) -> Value:
    """What a call of a library's function gives."""
    first = values[0] if values else UNKNOWN
    module, _, last = name.rpartition(".")
    if module == "jax.random":
        return _random(last, values, call, outline)
    if name in ("optax.global_norm", "optax.tree.norm"):
        return Value("array", "float")
    if name == "jax.lax.stop_gradient":
        return first.blurred() if first.node else UNKNOWN
    if name in ("int", "float", "bool"):
        return Value("array", name, python=True)  # type: ignore[arg-type]
    if last == "where" and len(values) < 3:
        return UNKNOWN
    if not name.startswith(_NUMPY) or last in _NO_ARRAYS or last[:1].isupper():
        return UNKNOWN
    dtype = _dtype(last, first, values, call, outline)
    is_given = len(call.args) > 1 or any(word.arg == "dtype" for word in call.keywords)
    return Value("array", dtype, weak=last in ("asarray", "array") and first.python and not is_given)


def _dtype(last: str, first: Value, values: Sequence[Value], call: ast.Call, outline: Outline) -> Dtype:
    given = next((word.value for word in call.keywords if word.arg == "dtype"), None)
    at = _DTYPE_AT.get(last)
    if given is None and at is not None and at < len(call.args):
        given = call.args[at]
    if given is not None:
        return dtype_named(given, outline)
    as_type = dtype_named(ast.Constant(last), outline)
    if as_type:
        return as_type
    if last in _MADE or last in _FLOATS:
        return "float"
    if last in ("full", "full_like") and len(values) > 1:
        return values[1].dtype if last == "full" else first.dtype
    if last in ("asarray", "array") or last in _LIKE:
        return "int" if first.dtype == "bool" and last in ("sum", "cumsum") else first.dtype
    if last in ("maximum", "minimum", "where") and len(values) > 1:
        kinds = {value.dtype for value in values[-2:]}
        return kinds.pop() if len(kinds) == 1 else ""
    return ""


def _random(last: str, values: Sequence[Value], call: ast.Call, outline: Outline) -> Value:
    first = values[0] if values else UNKNOWN
    if last in ("key", "PRNGKey"):
        fixed = isinstance(call.args[0], ast.Constant) if call.args else False
        return Value("array", "key" if last == "key" else "raw key", fixed=fixed)
    if last == "wrap_key_data":
        return Value("array", "key")
    if last == "key_data":
        return Value("array", "raw key")
    if last in ("split", "fold_in", "clone"):
        kind: Dtype = first.dtype if first.dtype in ("key", "raw key") else ""
        stays = last != "fold_in" or (len(values) > 1 and isinstance(values[1].spot, ast.Constant))
        made_of = (first.made_of if first.origin is None else first.origin) if stays else None
        keys = Value("array", kind, fixed=first.fixed and stays, made_of=made_of)
        return keys if last != "split" else msgspec.structs.replace(keys, items={"[0]": keys, "[1]": keys})
    dtype = _RANDOM.get(last, "")
    is_given = any(word.arg == "dtype" for word in call.keywords) or len(values) > 2
    return Value("array", "" if is_given and dtype != "bool" else dtype)
