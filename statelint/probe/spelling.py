"""Values and types in a word or two, for facts that a person reads."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import jax
import numpy as np


def short(value: Any, limit: int = 60) -> str:
    """A repr on one line of at most ``limit`` characters; the type alone when the repr raises or speaks of tracers."""
    if isinstance(value, jax.core.Tracer):
        return f"a traced {value.aval.str_short()}"
    if isinstance(value, jax.ShapeDtypeStruct):
        return f"a traced {value.dtype}[{','.join(map(str, value.shape))}]"
    if isinstance(value, functools.partial):
        return f"partial({short(value.func)}, ...)"
    if inspect.isroutine(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"<{type(value).__name__}>"
    if "Tracer" in text or "<function" in text:
        return f"{type(value).__name__}(...)"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def type_name(value: Any) -> str:
    """The type's name; `Array` for whatever stands for a jax array."""
    return "Array" if isinstance(value, jax.Array | jax.ShapeDtypeStruct) else type(value).__name__


def held(leaf: Any, aval: Any) -> str:
    """The model's `Held` of a traced leaf."""
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return "key"
    if isinstance(leaf, bool | int | float | complex) and not isinstance(leaf, np.generic):
        return "python"
    return "array" if isinstance(leaf, jax.Array | jax.ShapeDtypeStruct) else "numpy"


def static_kind(value: Any) -> str:
    """The model's `StaticKind`."""
    if isinstance(value, bool | int | float | complex | np.number | np.bool_):
        return "number"
    if isinstance(value, jax.Array | np.ndarray) or (type(value) is tuple and "array" in map(static_kind, value)):
        return "array"
    if isinstance(value, list | dict | set | bytearray):
        return "mutable"
    if value is None or isinstance(value, str | bytes):
        return "text"
    return "callable" if callable(value) else "other"


def holds_mutable(value: Any) -> bool:
    """Whether something in a container can be changed in place."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else ()
    return any(static_kind(part) == "mutable" or holds_mutable(part) for part in parts)


def aval_facts(aval: jax.ShapeDtypeStruct) -> dict[str, Any]:
    """The model's `Aval`."""
    return {"dtype": str(aval.dtype), "shape": list(aval.shape), "weak": bool(aval.weak_type)}
