"""Python's own syntax trees of the user's files, and what in them sets a field."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator, Sequence
from types import CodeType

from statelint.probe.nodes import Node

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


@functools.cache
def parse(path: str) -> ast.Module | None:
    """A file's tree; None when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@functools.cache
def definition(path: str, code: CodeType) -> Function | None:
    """The definition that a code object was compiled from; none where several lambdas of a line are alike."""
    arguments = list(code.co_varnames[: code.co_argcount])
    found = []
    for node in ast.walk(parse(path) or ast.Module([], [])):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= code.co_firstlineno <= node.lineno:
                return node
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            found += [node] if names == arguments else []
    return found[0] if len(found) == 1 else None


@functools.cache
def own_nodes(tree: ast.AST) -> Sequence[ast.AST]:
    """The nodes below in the order of the source, without those of the functions and classes inside."""
    found: list[ast.AST] = []
    stack = list(reversed(list(ast.iter_child_nodes(tree)) if isinstance(tree, Function) else [tree]))
    while stack:
        node = stack.pop()
        found.append(node)
        if not isinstance(node, _SCOPES):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))
    return found


@functools.cache
def likeliest(tree: ast.AST) -> Sequence[ast.AST]:
    """The same nodes, those first that what the function returns is most likely made by: what it returns, then its
    statements from the last one up; of each the outermost expression first.
    """
    statements = [node for node in reversed(own_nodes(tree)) if isinstance(node, ast.stmt)]
    returns = [node for node in statements if isinstance(node, ast.Return)]
    roots: list[ast.AST] = [*returns, *(node for node in statements if node not in returns)]
    if isinstance(tree, ast.expr):
        roots.append(tree.body if isinstance(tree, ast.Lambda) else tree)
    return [node for root in roots for node in _outermost_first(root)]


def _outermost_first(root: ast.AST) -> Iterator[ast.AST]:
    wave = [root]
    while wave:
        yield from wave
        inner = (child for node in wave if not isinstance(node, _SCOPES) for child in ast.iter_child_nodes(node))
        wave = [child for child in inner if not isinstance(child, ast.stmt)]


def returned(tree: ast.AST) -> list[ast.expr]:
    """What a function returns, at its last `return` first; of a constructor, the object that it fills."""
    if isinstance(tree, ast.Lambda):
        return [tree.body]
    if isinstance(tree, ast.FunctionDef) and tree.name == "__init__" and tree.args.args:
        return [ast.Name(tree.args.args[0].arg, lineno=(tree.end_lineno or tree.lineno) + 1, col_offset=0)]
    returns = [node for node in own_nodes(tree) if isinstance(node, ast.Return)]
    return [node.value for node in reversed(returns) if node.value is not None]


def settings(tree: ast.AST, name: ast.Name) -> list[tuple[str | None, ast.expr]]:
    """What is done to a name before the place where it stands, the last first: an item or attribute of it is set,
    with its own name, or else all of it.
    """
    found: list[tuple[str | None, ast.expr]] = []
    for node in own_nodes(tree):
        if not isinstance(node, ast.stmt | ast.expr) or _at(node) >= _at(name):
            continue
        match node:
            case ast.Assign(targets=targets, value=value):
                found += [(_item(target, name.id), value) for target in targets if _sets(target, name.id)]
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=value)
                | ast.NamedExpr(target=target, value=value)
            ):
                found += [(_item(target, name.id), value)] if _sets(target, name.id) else []
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name.id), attr="update")):
                found.append((None, node))
    return found[::-1]


def _at(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _sets(target: ast.expr, name: str) -> bool:
    """Whether a target is this name, or an item or attribute of it."""
    base = target.value if isinstance(target, ast.Subscript | ast.Attribute) else target
    return isinstance(base, ast.Name) and base.id == name


def _item(target: ast.expr, name: str) -> str | None:
    match target:
        case ast.Attribute(attr=item) | ast.Subscript(slice=ast.Constant(value=item)):
            return str(item)
        case ast.Subscript():
            return ""  # one that nobody can tell from here
    return None


def value_in(tree: ast.AST, field: Node) -> ast.expr | None:
    """What some expression below gives a field, whatever it is that has the field: the likeliest."""
    for node in likeliest(tree):
        match node:
            case ast.Call():
                if (found := argument(node, field)) is not None:
                    return found
            case ast.Dict():
                if (found := item_of(node, field)) is not None:
                    return found
            case (
                ast.Assign(
                    targets=[ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name))], value=value
                )
                | ast.AugAssign(
                    target=ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name)), value=value
                )
            ):
                if field.name and str(name) == field.name:
                    return value
            case ast.Return(value=ast.Tuple(elts=items) | ast.List(elts=items)):
                # A state that is a plain tuple: `return params, 0`.
                if field.path == f"[{field.position}]" and field.position < len(items):
                    return items[field.position]
    return None


def item_of(literal: ast.Dict, field: Node) -> ast.expr | None:
    """What a dict literal gives the field: the last of a key counts."""
    for key, value in zip(reversed(literal.keys), reversed(literal.values), strict=True):
        if isinstance(key, ast.Constant) and field.name and str(key.value) == field.name:
            return value
    return None


def argument(call: ast.Call, field: Node) -> ast.expr | None:
    """What a call gives the field: by keyword, or by position in a call of the class that holds it."""
    if not field.name:
        return None
    for keyword in call.keywords:
        if keyword.arg == field.name:
            return keyword.value
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    if (
        field.owner is None
        or name not in (field.owner.__name__, "cls")
        or any(isinstance(item, ast.Starred) for item in call.args)
    ):
        return None
    try:
        parameters = [name for name in inspect.signature(field.owner).parameters if name != "self"]
        return call.args[parameters.index(field.name)]
    except (ValueError, TypeError, IndexError):
        return None
