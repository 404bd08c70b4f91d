"""Paths to values, and what of a deleted array may still be looked at."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from statelint.source.sites import own_nodes
from statelint.source.tree import Function

Path = tuple[str, ...]
"""A name, and what follows it: `("self", "state", "['w']")`."""

METADATA = frozenset(
    {
        *("shape", "dtype", "ndim", "size", "nbytes", "itemsize", "aval", "weak_type", "sharding", "committed"),
        *("is_deleted", "delete", "keys", "replace", "_replace", "_fields", "__class__", "__dict__"),
        *("apply_fn", "tx", "graphdef", "treedef", "config", "cfg"),
    }
)
"""What of a donated value can be read all the same: its avals, and what a state holds besides arrays."""

METADATA_FUNCTIONS = frozenset(
    {
        *("isinstance", "type", "id", "len", "hasattr", "shape", "ndim", "size", "result_type", "typeof"),
        *("eval_shape", "make_jaxpr", "lower", "structure", "tree_structure", "zeros_like", "ones_like", "full_like"),
        *("empty_like", "get_aval", "shaped_abstractify", "ShapeDtypeStruct", "tree_leaves", "leaves"),
        *("is_deleted", "delete", "getrefcount", "ref"),
    }
)
"""Last names of functions that look no further than the aval."""

RAISES = frozenset({"raises", "assertRaises", "assertRaisesRegex", "assertRaisesWithLiteralMatch", "suppress"})
"""Contexts in which an exception is expected."""


def path_of(node: ast.AST) -> Path | None:
    """The path that an expression is; None for what makes a value, and for computed subscripts."""
    steps: list[str] = []
    while True:
        match node:
            case ast.Name():
                return (node.id, *reversed(steps))
            case ast.Attribute():
                steps.append(node.attr)
                node = node.value
            case ast.Subscript(slice=ast.Constant(value=key)):
                steps.append(f"[{key!r}]")
                node = node.value
            case _:
                return None


def paths_in(node: ast.expr) -> Iterator[Path]:
    """The values that an argument holds: itself, or the entries of a literal."""
    match node:
        case ast.Tuple() | ast.List():
            for each in node.elts:
                yield from paths_in(each)
        case ast.Dict():
            for each in node.values:
                yield from paths_in(each)
        case _:
            path = path_of(node)
            if path is not None:
                yield path


def tops(function: Function) -> Iterator[ast.expr]:
    """The longest paths that a function reads, also in the functions inside it."""
    taken: set[ast.AST] = set()
    for node in own_nodes(function):
        if isinstance(node, Function):
            yield from tops(node)
        elif isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and node not in taken:
            below: ast.AST = node
            while isinstance(below, ast.Attribute | ast.Subscript):
                below = below.value
                taken.add(below)
            if isinstance(node.ctx, ast.Load):
                yield node


def is_host(node: ast.expr, absolute: Callable[[ast.expr], str]) -> bool:
    """Whether an expression makes a Python or NumPy value, which is never donated."""
    if isinstance(node, ast.Call):
        name = absolute(node.func)
        return name.startswith("numpy.") or name in ("jax.device_get", "int", "float", "bool", "len")
    if isinstance(node, ast.Tuple | ast.List | ast.Dict):
        items = node.values if isinstance(node, ast.Dict) else node.elts
        return bool(items) and all(is_host(each, absolute) for each in items)
    return isinstance(node, ast.Constant)
