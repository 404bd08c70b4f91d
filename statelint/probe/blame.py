"""Where the source sets a field: for leaves of which JAX keeps no line (Python numbers, literals, defaults).

Follows the path of a leaf through the function that builds the state: the expression given to its first field
(a keyword, a dict key, a position in a constructor call, an item of a returned tuple), then, inside that or
inside the function that it calls, the one given to the next. The first one found is meant; none found is no
answer.
"""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from statelint.probe import frames
from statelint.probe.nodes import Node

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

DEPTH = 4
"""How far calls and names are followed."""


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
    if inspect.isroutine(function) or isinstance(function, type):
        return None
    return inspect.getattr_static(type(function), "__call__", None)


class Code:
    """The source of a function, as far as it can be read; nothing is found when it cannot."""

    def __init__(self, function: Any) -> None:
        self.function = next((step for step in unwrap(function) if isinstance(step, FunctionType)), None)
        self.path = self.function.__code__.co_filename if self.function else ""
        module = _parse(self.path) if frames.is_users(self.path) else None
        self.tree = _definition(module, self.function.__code__) if module and self.function else None
        self._known: dict[Any, frames.Place | None] = {}

    def sets(self, node: Node) -> frames.Place | None:
        """Where the function, or one that it calls, gives the node its value: as far down its path as can be told."""
        # The layers of a model have their names in common, and a state may have thousands of leaves.
        key = tuple((step.name, step.owner, step.path == f"[{step.position}]" and step.path) for step in node.lineage())
        if key not in self._known:
            self._known[key] = self._sets(node)
        return self._known[key]

    def _sets(self, node: Node) -> frames.Place | None:
        found: tuple[Code, ast.expr] | None = None
        scopes = list(self._reached)
        for step in node.lineage():
            values = ((code, value) for code, tree in scopes if (value := _value_in(tree, step)) is not None)
            deeper = next(values, None)
            if deeper is None and found and not step.name and isinstance(found[1], ast.Tuple | ast.List):
                deeper = (found[0], found[1].elts[step.position]) if step.position < len(found[1].elts) else None
            if deeper is None:
                # Of a name that is set nowhere, nothing below is known; a position has none, and what a loop or a
                # comprehension makes is alike at all of them.
                if step.name:
                    break
                continue
            found = deeper
            scopes = list(found[0]._inside(found[1]))
        if found is None:
            return None
        code, expression = found[0]._followed(found[1])
        return code._place(expression)

    def result(self) -> frames.Place | None:
        """The function's last `return`, or the function itself."""
        if self.tree is None:
            return None
        returns = [node for node in _own_nodes(self.tree) if isinstance(node, ast.Return)]
        return self._place(returns[-1] if returns else self.tree)

    def builds(self, node: Node) -> frames.Place | None:
        """Where the function, or one that it calls, builds what is above the node: by `State.create(...)`, say."""
        owners = {step.owner.__name__ for step in node.lineage() if step.owner}
        for code, tree in self._reached:
            for call in _own_nodes(tree):
                match call:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id=name))) if name in owners:
                        return code._place(call)
        return None

    def definition(self) -> frames.Place | None:
        """The function itself."""
        return self._place(self.tree) if self.tree else None

    def _place(self, node: ast.expr | ast.stmt) -> frames.Place:
        found = frames.place(self.path, node.lineno, node.col_offset)
        end = frames.place(self.path, node.end_lineno or node.lineno, node.end_col_offset or 0)
        # A frame around a whole function or block says less than its first line.
        return found if end["line"] > node.lineno else found | {"end_line": end["line"], "end_column": end["column"]}

    @functools.cached_property
    def _reached(self) -> list[tuple[Code, ast.AST]]:
        """The function, then the user's functions that it calls, nearest first."""
        found: list[tuple[Code, ast.AST]] = []
        wave: list[Code] = [self] if self.tree else []
        seen: set[ast.AST | None] = {self.tree}
        for _ in range(DEPTH):
            found += [(code, code.tree) for code in wave if code.tree]
            called = [
                callee
                for code in wave
                if code.tree
                for node in _own_nodes(code.tree)
                if (callee := code._called(node)) is not None and callee.tree not in seen
            ]
            seen.update(code.tree for code in called)
            wave = called
        return found

    def _called(self, node: ast.AST) -> Code | None:
        """The user's function, or constructor, that a call calls, looked up where the function itself would."""
        names: list[str] = []
        target = node.func if isinstance(node, ast.Call) else None
        while isinstance(target, ast.Attribute):
            names.insert(0, target.attr)
            target = target.value
        if not isinstance(target, ast.Name) or self.function is None:
            return None
        called = self.function.__globals__.get(target.id) or inspect.getclosurevars(self.function).nonlocals.get(
            target.id
        )
        for name in names:
            called = getattr(called, name, None)
        if isinstance(called, type):
            called = vars(called).get("__init__")
        code = Code(called) if callable(called) else None
        return code if code and code.tree else None

    def _inside(self, expression: ast.expr, depth: int = DEPTH) -> Iterator[tuple[Code, ast.AST]]:
        """Where the fields of an expression's value are set: in the function it calls, or in itself."""
        if (called := self._called(expression)) is not None:
            yield from called._reached
        elif (value := self._assigned(expression)) is not None and depth:
            yield from self._inside(value, depth - 1)
        else:
            yield self, expression
            for node in _own_nodes(expression):
                if (called := self._called(node)) is not None:
                    yield from called._reached

    def _assigned(self, name: ast.expr) -> ast.expr | None:
        """The one expression that the function assigns to a name."""
        values = [
            node.value
            for node in (_own_nodes(self.tree) if self.tree and isinstance(name, ast.Name) else ())
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and isinstance(name, ast.Name) and target.id == name.id
        ]
        return values[0] if len(values) == 1 else None

    def _followed(self, expression: ast.expr) -> tuple[Code, ast.expr]:
        """The expression, or what a helper returns for it: the helper's line is the one to change."""
        code = self
        for _ in range(DEPTH):
            helper = code._called(expression)
            returns = (
                [node.value for node in _own_nodes(helper.tree) if isinstance(node, ast.Return)]
                if helper and helper.tree
                else []
            )
            if helper is None or len(returns) != 1 or returns[0] is None:
                break
            code, expression = helper, returns[0]
        return code, expression


def same_function(one: frames.Place, other: frames.Place) -> bool:
    """Whether two places stand in one function of one file."""
    return one["path"] == other["path"] and _enclosing(one["path"], one["line"]) is _enclosing(
        other["path"], other["line"]
    )


@functools.cache
def _enclosing(path: str, line: int) -> ast.AST | None:
    inside = [node for node in _functions(path) if node.lineno <= line <= (node.end_lineno or 0)]
    return max(inside, key=lambda node: node.lineno, default=None)


@functools.cache
def _functions(path: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(_parse(path) or ast.Module([], []))
    return [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def default_of(node: Node) -> frames.Place | None:
    """Where the class above a leaf or static field gives it its default."""
    path, statement = _declaration(node)
    return (
        frames.place(path, statement.value.lineno, statement.value.col_offset)
        if statement and statement.value
        else None
    )


def declaration_of(node: Node) -> frames.Place | None:
    """Where the class above a leaf or static field declares it."""
    path, statement = _declaration(node)
    return frames.place(path, statement.lineno, statement.col_offset) if statement else None


def library_sets(node: Node) -> frames.Place | None:
    """Where a library gives a leaf its first value: in an `init` or `create` beside the class that holds it."""
    path, cls = _class(node.owner, of_library=True) if node.owner and node.name else ("", None)
    for function in ast.walk(_parse(path) or ast.Module([], [])) if cls else ():
        if isinstance(function, ast.FunctionDef) and function.name.strip("_").startswith(("init", "create")):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and (value := _argument(call, node)) is not None:
                    return frames.place(path, value.lineno, value.col_offset)
    return None


def unflatten_of(owner: type) -> frames.Place | None:
    """Where a class of the user's is put together again: its `tree_unflatten`, or else what runs in its place."""
    path, cls = _class(owner)
    if cls is None:
        return None
    functions = {node.name: node for node in cls.body if isinstance(node, ast.FunctionDef)}
    names = ("tree_unflatten", "__post_init__", "__init__")
    target = next((functions[name] for name in names if name in functions), cls)
    return frames.place(path, target.lineno, target.col_offset)


@functools.cache
def _class(owner: type, *, of_library: bool = False) -> tuple[str, ast.ClassDef | None]:
    """The definition of a class of the user's, or of a library's, and its file."""
    try:
        path = inspect.getsourcefile(owner) or ""
    except TypeError:
        return "", None
    module = _parse(path) if frames.is_users(path) != of_library else None
    nodes = (node for node in (ast.walk(module) if module else ()) if isinstance(node, ast.ClassDef))
    return path, next((node for node in nodes if node.name == owner.__name__), None)


def _declaration(node: Node) -> tuple[str, ast.AnnAssign | None]:
    """The annotated assignment of a field in the nearest class of the user's that has it, and the class's file."""
    for owner in node.owner.__mro__ if node.owner and node.name else ():
        path, cls = _class(owner)
        for statement in cls.body if cls else ():
            if isinstance(statement, ast.AnnAssign) and getattr(statement.target, "id", None) == node.name:
                return path, statement
    return "", None


@functools.cache
def _parse(path: str) -> ast.Module | None:
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _definition(module: ast.Module, code: CodeType) -> Function | None:
    """The definition that a code object was compiled from; none where several lambdas of a line are alike."""
    arguments = list(code.co_varnames[: code.co_argcount])
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if first <= code.co_firstlineno <= node.lineno:
                return node
        if isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            found += [node] if names == arguments else []
    return found[0] if len(found) == 1 else None


@functools.cache
def _own_nodes(tree: ast.AST) -> Sequence[ast.AST]:
    """The nodes below in the order of the source, without those of the functions and classes inside."""
    found: list[ast.AST] = []
    stack = list(reversed(list(ast.iter_child_nodes(tree)) if isinstance(tree, Function) else [tree]))
    while stack:
        node = stack.pop()
        found.append(node)
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            stack.extend(reversed(list(ast.iter_child_nodes(node))))
    return found


def _value_in(tree: ast.AST, field: Node) -> ast.expr | None:
    for node in _own_nodes(tree):
        match node:
            case ast.Call():
                if (found := _argument(node, field)) is not None:
                    return found
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and field.name and str(key.value) == field.name:
                        return value
            case ast.Assign(
                targets=[ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name))],
                value=value,
            ):
                if field.name and str(name) == field.name:
                    return value
            case ast.AugAssign(
                target=ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=name)), value=value
            ):
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
