"""Where the source sets a field: for leaves of which JAX keeps no line (Python numbers, literals, defaults).

Looks through the function that builds the state, and the functions of the same file that it calls, for the expression
given to the field: a keyword, a dict key, the position in a constructor call, an item of a returned tuple, an attribute
that is assigned. The first one found is meant; none found is no answer.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from statelint.probe import frames
from statelint.probe.nodes import Node

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

DEPTH = 4
"""How far calls are followed within a file."""


def unwrap(function: Any) -> list[Any]:
    """A callable and all that it wraps, outermost first: jits, partials, bound methods, `functools.wraps`."""
    found: list[Any] = []
    while function is not None and not any(function is seen for seen in found):
        found.append(function)
        function = _wrapped(function)
    return found


def _wrapped(function: Any) -> Any:
    for name in ("__wrapped__", "func", "__func__"):
        if callable(inner := getattr(function, name, None)):
            return inner
    is_object = not inspect.isroutine(function) and not isinstance(function, type)
    return getattr(type(function), "__call__", None) if is_object else None


class Code:
    """The source of a function, as far as it can be read; nothing is found when it cannot."""

    def __init__(self, function: Callable[..., Any]) -> None:
        code = next((code for step in unwrap(function) if (code := getattr(step, "__code__", None))), None)
        self.path = code.co_filename if code else ""
        self.module = _parse(self.path) if code and frames.is_users(self.path) else None
        self.function = _function_at(self.module, code.co_firstlineno, code.co_name) if self.module and code else None

    def sets(self, node: Node) -> frames.Place | None:
        """Where the function, or one that it calls, gives the field its value; else the default of its class."""
        if self.function is None:
            return None
        for function in self._reached():
            if (expression := _value_in(function, node)) is not None:
                return self._place(self._followed(expression))
        return None

    def result(self) -> frames.Place | None:
        """The function's last `return`, or the function itself."""
        if self.function is None:
            return None
        returns = [node for node in _own_nodes(self.function) if isinstance(node, ast.Return)]
        return self._place(returns[-1] if returns else self.function)

    def same_function(self, one: frames.Place, other: frames.Place) -> bool:
        """Whether two places stand in one function of this file."""
        return one["path"] == other["path"] and self._enclosing(one["line"]) is self._enclosing(other["line"])

    def _enclosing(self, line: int) -> ast.AST | None:
        inside = [
            node
            for node in ast.walk(self.module or ast.Module([], []))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.lineno <= line <= (node.end_lineno or line)
        ]
        return max(inside, key=lambda node: node.lineno, default=None)

    def _place(self, node: ast.expr | ast.stmt) -> frames.Place:
        found = frames.place(self.path, node.lineno, node.col_offset)
        end = frames.place(self.path, node.end_lineno or node.lineno, node.end_col_offset or 0)
        # A frame around a whole function or block says less than its first line.
        return found if end["line"] > node.lineno else found | {"end_line": end["line"], "end_column": end["column"]}

    def _reached(self) -> Iterator[Function]:
        """The function, then those of the file that it calls, nearest first."""
        assert self.function is not None
        wave, seen = [self.function], {self.function}
        for _ in range(DEPTH):
            yield from wave
            called = [self._named(node) for function in wave for node in _own_nodes(function) if isinstance(node, ast.Call)]
            wave = [function for function in dict.fromkeys(called) if function is not None and function not in seen]
            seen.update(wave)

    def _named(self, call: ast.Call) -> Function | None:
        name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else None
        return _functions(self.module).get(name) if self.module and name else None

    def _followed(self, expression: ast.expr) -> ast.expr:
        """The expression, or what a helper of this file returns for it: the helper's line is the one to change."""
        for _ in range(DEPTH):
            helper = self._named(expression) if isinstance(expression, ast.Call) else None
            returns = [node.value for node in _own_nodes(helper) if isinstance(node, ast.Return)] if helper else []
            if len(returns) != 1 or returns[0] is None:
                break
            expression = returns[0]
        return expression


def default_of(node: Node) -> frames.Place | None:
    """Where the class above a leaf or static field gives it its default."""
    if node.owner is None or not node.name:
        return None
    for owner in node.owner.__mro__:
        try:
            path = inspect.getsourcefile(owner) or ""
        except TypeError:
            continue
        if not frames.is_users(path) or (module := _parse(path)) is None:
            continue
        for statement in (
            statement
            for found in ast.walk(module)
            if isinstance(found, ast.ClassDef) and found.name == owner.__name__
            for statement in found.body
        ):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.target.id == node.name:
                target = statement.value or statement
                return frames.place(path, target.lineno, target.col_offset)
    return None


@functools.cache
def _parse(path: str) -> ast.Module | None:
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@functools.cache
def _functions(module: ast.Module) -> dict[str, Function]:
    return {node.name: node for node in ast.walk(module) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def _function_at(module: ast.Module, line: int, name: str) -> Function | None:
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= line <= node.lineno:
                return node
        if isinstance(node, ast.Lambda) and name == "<lambda>" and node.lineno == line:
            return node
    return None


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function in the order of the source, without those of the functions inside it."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    stack: list[ast.AST] = list(reversed(body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))


def _value_in(function: Function, field: Node) -> ast.expr | None:
    for node in _own_nodes(function):
        match node:
            case ast.Call():
                if (found := _argument(node, field)) is not None:
                    return found
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and field.name and str(key.value) == field.name:
                        return value
            case ast.Assign(targets=[ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name))], value=value):
                if field.name and str(name) == field.name:
                    return value
            case ast.AugAssign(target=ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name)), value=value):
                if field.name and str(name) == field.name:
                    return value
            case ast.Return(value=ast.Tuple(elts=items) | ast.List(elts=items)):
                # A state that is a plain tuple: `return params, 0`.
                if field.path == f"[{field.position}]" and field.position < len(items):
                    return items[field.position]
    return None


def _argument(call: ast.Call, field: Node) -> ast.expr | None:
    """What a call gives the field: by keyword, or by position in a call of the class that holds it."""
    if not field.name:
        return None
    for keyword in call.keywords:
        if keyword.arg == field.name:
            return keyword.value
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
    if field.owner is None or name != field.owner.__name__ or any(isinstance(item, ast.Starred) for item in call.args):
        return None
    try:
        parameters = [name for name in inspect.signature(field.owner).parameters if name != "self"]
        return call.args[parameters.index(field.name)]
    except (ValueError, TypeError, IndexError):
        return None
