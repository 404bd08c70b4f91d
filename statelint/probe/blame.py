"""Where the source sets a field: for leaves of which JAX keeps no line (Python numbers, literals, defaults).

Follows the path of a leaf through the function that builds the state: in what the function returns, the expression
given to its first field (a keyword, a dict key, a position in a constructor call, an item of a tuple), then, inside
that or inside the function that it calls, the one given to the next. Where what is returned does not tell, an
expression anywhere in the function that sets a field of that name will do; none found is no answer.
"""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Any

from statelint.probe import frames, syntax
from statelint.probe.nodes import Node

Found = tuple["Code", ast.expr]
"""An expression, and the function in which it stands."""

Keys = Sequence[int | str]
"""The way to a part of a result: indices, keys and names of attributes."""

DEPTH = 4
"""How far calls and names are followed."""

COPIES = ("replace", "_replace", "copy", "dict", "deepcopy", "update")
"""Functions that give back what they are given but for what their keywords name."""


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
    """The source of a function, as far as it can be read; nothing is found when it cannot.

    Args:
        where: the state's place in what the function returns; of a state that is a tuple of several parts of it,
            the place of each.
    """

    def __init__(self, function: Any, where: Sequence[Keys] = ((),)) -> None:
        self.where = where
        self.function = next((step for step in unwrap(function) if isinstance(step, FunctionType)), None)
        self.path = self.function.__code__.co_filename if self.function else ""
        is_users = self.function is not None and frames.is_users(self.path)
        self.tree = syntax.definition(self.path, self.function.__code__) if self.function and is_users else None
        self._known: dict[Any, frames.Place | None] = {}

    def sets(self, node: Node) -> frames.Place | None:
        """Where the function, or one that it calls, gives the node its value: as far down its path as can be told."""
        # The layers of a model have their names in common, and a state may have thousands of leaves.
        key = tuple((step.name, step.owner, step.path == f"[{step.position}]" and step.path) for step in node.lineage())
        if key not in self._known:
            self._known[key] = self._sets(node)
        return self._known[key]

    def _sets(self, node: Node) -> frames.Place | None:
        results, path = self._results(node.lineage())
        found: Found | None = None
        for step in path:
            roots = [found] if found else results
            deeper = next(filter(None, (code._part(value, step, set()) for code, value in roots)), None)
            deeper = deeper or self._somewhere(step, roots, everywhere=found is None)
            if deeper is None:
                # Of a name that is set nowhere, nothing below is known; a position has none, and what a loop or a
                # comprehension makes is alike at all of them.
                if step.name:
                    break
                continue
            found = deeper
        if found is None:
            return None
        code, expression = found[0]._followed(found[1])
        return code._place(expression)

    def _results(self, path: list[Node]) -> tuple[list[Found], list[Node]]:
        """The expressions for the state in what the function returns, the likeliest first, and the way below them."""
        keys, below = self.where[0], path
        if path and len(self.where) > 1:
            keys, below = self.where[path[0].position], path[1:]
        found: list[Found] = [(self, value) for value in (syntax.returned(self.tree) if self.tree else ())]
        for key in keys:
            step = _step(key)
            found = [part for code, value in found if (part := code._part(value, step, set())) is not None]
        return found, below

    def _part(self, value: ast.expr, field: Node, seen: set[ast.AST]) -> Found | None:
        """The expression that a value's own form, or what it is made from, gives the field.

        Args:
            seen: the expressions that were looked at already.
        """
        if value in seen:
            return None
        seen.add(value)
        sources: list[ast.expr] = []
        match value:
            case ast.Dict():
                if (item := syntax.item_of(value, field)) is not None:
                    return self, item
                sources = [item for key, item in zip(value.keys, value.values, strict=True) if key is None][::-1]
            case ast.Tuple(elts=items) | ast.List(elts=items):
                is_plain = not field.name and not any(isinstance(item, ast.Starred) for item in items)
                return (self, items[field.position]) if is_plain and field.position < len(items) else None
            case ast.Call():
                return self._part_of_call(value, field, seen)
            case ast.Name() if self.tree is not None:
                for name, setting in syntax.settings(self.tree, value):
                    if name == field.name != "":
                        return self, setting
                    if name is None and (found := self._part(setting, field, seen)) is not None:
                        return found
            case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=other, op=ast.BitOr(), right=one):
                sources = [one, other]
            case ast.NamedExpr(value=inner) | ast.Await(value=inner):
                sources = [inner]
        return next(filter(None, (self._part(source, field, seen) for source in sources)), None)

    def _part_of_call(self, call: ast.Call, field: Node, seen: set[ast.AST]) -> Found | None:
        """What a call gives the field: to its class, or to the copy that it makes; or what the function makes of it."""
        if (given := syntax.argument(call, field)) is not None:
            return self, given
        if (called := self._called(call)) is not None:
            results = (called._part(value, field, seen) for value in syntax.returned(called.tree or call))
            return next(filter(None, results), None)
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
        sources = call.args[:1]
        if isinstance(call.func, ast.Attribute) and not sources:
            sources = [call.func.value]
        is_copy = name in COPIES
        return next(filter(None, (self._part(source, field, seen) for source in sources if is_copy)), None)

    def _somewhere(self, field: Node, roots: Sequence[Found], *, everywhere: bool) -> Found | None:
        """The likeliest expression below these, or in all of the function, that sets a field of this name."""
        inside = (scope for code, value in roots for scope in code._inside(value))
        for code, tree in itertools.chain(inside, self._reached if everywhere else ()):
            if (value := syntax.value_in(tree, field)) is not None:
                return code, value
        return None

    def result(self) -> frames.Place | None:
        """The function's last `return`, or the function itself."""
        if self.tree is None:
            return None
        returns = [node for node in syntax.own_nodes(self.tree) if isinstance(node, ast.Return)]
        return self._place(returns[-1] if returns else self.tree)

    def builds(self, node: Node) -> frames.Place | None:
        """Where the function, or one that it calls, builds what is above the node: by `State.create(...)`, say."""
        owners = {step.owner.__name__ for step in node.lineage() if step.owner}
        for code, tree in self._reached:
            for call in syntax.likeliest(tree):
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
                for node in syntax.own_nodes(code.tree)
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
            for node in syntax.own_nodes(expression):
                if (called := self._called(node)) is not None:
                    yield from called._reached

    def _assigned(self, name: ast.expr) -> ast.expr | None:
        """The one expression that the function assigns to a name."""
        values = [
            node.value
            for node in (syntax.own_nodes(self.tree) if self.tree and isinstance(name, ast.Name) else ())
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
                [node.value for node in syntax.own_nodes(helper.tree) if isinstance(node, ast.Return)]
                if helper and helper.tree
                else []
            )
            if helper is None or len(returns) != 1 or returns[0] is None:
                break
            code, expression = helper, returns[0]
        return code, expression


def _step(key: int | str) -> Node:
    """A key as a step of a path."""
    is_index = isinstance(key, int)
    return Node(f"[{key}]", "" if is_index else str(key), None, object, position=int(key) if is_index else 0)


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
    nodes = ast.walk(syntax.parse(path) or ast.Module([], []))
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


def method_sets(node: Node) -> frames.Place | None:
    """Where a method of the user's class above a field sets it anew: the first that does, but for its `__init__`."""
    for owner in node.owner.__mro__ if node.owner and node.name else ():
        path, cls = _class(owner)
        for method in cls.body if cls else ():
            if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name != "__init__":
                for statement in ast.walk(method):
                    match statement:
                        case (
                            ast.AugAssign(target=ast.Attribute(value=ast.Name(), attr=name) as target)
                            | ast.Assign(targets=[ast.Attribute(value=ast.Name(), attr=name) as target])
                        ) if name == node.name:
                            return frames.place(path, target.lineno, target.col_offset)
    return None


def library_sets(node: Node) -> frames.Place | None:
    """Where a library gives a leaf its first value: in an `init` or `create` beside the class that holds it."""
    path, cls = _class(node.owner, of_library=True) if node.owner and node.name else ("", None)
    for function in ast.walk(syntax.parse(path) or ast.Module([], [])) if cls else ():
        if isinstance(function, ast.FunctionDef) and function.name.strip("_").startswith(("init", "create")):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and (value := syntax.argument(call, node)) is not None:
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
    module = syntax.parse(path) if frames.is_users(path) != of_library else None
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
