"""A file's `ast` with a way up: the function, the loop and the bindings around any node."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from statelint.source.walking import FIELDS, WITH_ALIASES

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Loop = ast.For | ast.AsyncFor | ast.While | Comprehension


class Binding(msgspec.Struct, frozen=True, eq=False):
    """One place where a scope binds a name.

    Attributes:
        node: the statement, parameter or loop that binds it.
        value: what the name is given, when that is an expression of its own.
    """

    node: ast.AST
    value: ast.expr | None = None

    @property
    def function(self) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function that a `def` binds."""
        return self.node if isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef) else None


class Tree:
    """Answers what stands around a node."""

    def __init__(self, module: ast.Module) -> None:
        self.module = module
        self.parents: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = [module]
        self._scopes: dict[ast.AST, Scope] = {module: module}
        self._bindings: dict[ast.AST, dict[str, list[Binding]]] = {}
        for node in self.nodes:  # grows as it is walked
            kind, outer = type(node), self._scopes[node]
            if kind in _BINDS:
                _BINDS[kind](self, node)
            for name in FIELDS[kind]:
                child = getattr(node, name)
                # Decorators and defaults are evaluated in the outer scope.
                scope: Any = node if kind in _SCOPES and name == "body" else outer
                for each in child if type(child) is list else (child,):
                    if type(each) in WITH_ALIASES:
                        self.parents[each] = node
                        self._scopes[each] = scope
                        self.nodes.append(each)

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """What stands around a node, from the inside out, each with the child through which it is reached."""
        child = node
        while child in self.parents:
            parent = self.parents[child]
            yield parent, child
            child = parent

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated; decorators and defaults belong to the outer one."""
        return self._scopes.get(node, self.module)

    def scopes(self, node: ast.AST) -> Iterator[Scope]:
        """The scopes that a name is looked up in, from the inside out: a class's only from its own body."""
        scope = self.scope(node)
        yield scope
        while scope is not self.module:
            scope = self.scope(scope)
            if not isinstance(scope, ast.ClassDef):
                yield scope

    def functions(self, node: ast.AST) -> Iterator[Function]:
        """The functions around a node, from the inside out."""
        scope = self.scope(node)
        while scope is not self.module:
            if isinstance(scope, Function):
                yield scope
            scope = self.scope(scope)

    def loops(self, node: ast.AST) -> Iterator[Loop]:
        """The loops each turn of which evaluates a node in its own scope, from the inside out."""
        for parent, child in self.around(node):
            if isinstance(parent, Loop) and _is_repeated(parent, child):
                yield parent
            if isinstance(parent, Scope) and _is_inside(parent, child):
                return

    def cls(self, node: ast.AST) -> ast.ClassDef | None:
        """The class of the method, or of the function inside one, that a node stands in."""
        for parent, _ in self.around(node):
            if isinstance(parent, ast.ClassDef):
                return parent
        return None

    def statement(self, node: ast.AST) -> ast.AST:
        """The statement that a node is part of."""
        while not isinstance(node, ast.stmt) and node in self.parents:
            node = self.parents[node]
        return node

    @functools.cached_property
    def loads(self) -> dict[str, list[ast.Name]]:
        """Where each name is read."""
        found: dict[str, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """All that anything is called by in the file."""
        return frozenset(map(name_of, self.nodes))

    def is_in(self, node: ast.AST, other: ast.AST) -> bool:
        """Whether a node stands somewhere in another."""
        return other is self.module or any(parent is other for parent, _ in self.around(node))

    def bound(self, scope: ast.AST, name: str) -> list[Binding]:
        """Where a scope binds a name."""
        return self._bindings.get(scope, {}).get(name, [])

    def find(self, name: str, node: ast.AST) -> tuple[Scope, list[Binding]] | None:
        """The scope that a name belongs to, seen from a node, and where it is bound there."""
        for scope in self.scopes(node):
            found = self.bound(scope, name)
            if found:
                return scope, found
        return None

    def value(self, name: str, node: ast.AST) -> ast.expr | None:
        """The one expression that a name stands for; None when there are several, or none."""
        found = self.find(name, node)
        return found[1][0].value if found is not None and len(found[1]) == 1 else None

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._bind(node, node.name, Binding(node))

    def _parameter(self, node: ast.arg) -> None:
        self._bind_in(self.parents[self.parents[node]], node.arg, Binding(node))

    def _assignment(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._targets(target, node, node.value)

    def _annotated(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self._targets(node.target, node, node.value)

    def _target(self, node: ast.AugAssign | ast.For | ast.AsyncFor | ast.comprehension) -> None:
        self._targets(node.target, node, None)

    def _context(self, node: ast.withitem) -> None:
        if node.optional_vars is not None:
            self._targets(node.optional_vars, node, None)

    def _captured(self, node: ast.ExceptHandler | ast.MatchAs | ast.MatchStar) -> None:
        if node.name is not None:
            self._bind(node, node.name, Binding(node))

    def _imported(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self._bind(node, alias.asname or alias.name.partition(".")[0], Binding(node))

    def _targets(self, target: ast.expr, node: ast.AST, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._bind(node, target.id, Binding(node, value))
        elif isinstance(target, ast.Starred):
            self._targets(target.value, node, None)
        elif isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            paired = len(values) == len(target.elts) and not any(isinstance(each, ast.Starred) for each in values)
            for at, each in enumerate(target.elts):
                self._targets(each, node, values[at] if paired else None)

    def _outer(self, node: ast.Global | ast.Nonlocal) -> None:
        """Names that this scope shares with an outer one are bound, and bound again, in both."""
        outer = next((scope for scope in self.scopes(node) if scope is not self.scope(node)), self.module)
        for name in node.names:
            self._bind(node, name, Binding(node))
            self._bind_in(self.module if isinstance(node, ast.Global) else outer, name, Binding(node))

    def _bind(self, node: ast.AST, name: str, binding: Binding) -> None:
        self._bind_in(self.scope(node), name, binding)

    def _bind_in(self, scope: ast.AST, name: str, binding: Binding) -> None:
        self._bindings.setdefault(scope, {}).setdefault(name, []).append(binding)


def name_of(node: ast.AST) -> str:
    """What a node is called by, or calls something; empty for one without a name."""
    for attribute in ("id", "arg", "name", "asname"):
        name = getattr(node, attribute, None)
        if isinstance(name, str):
            return name
    return ""


_SCOPES = frozenset({ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef})

_BINDS: dict[type, Callable[[Tree, Any], None]] = {
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), Tree._definition),
    **dict.fromkeys((ast.AnnAssign, ast.NamedExpr), Tree._annotated),
    **dict.fromkeys((ast.AugAssign, ast.For, ast.AsyncFor, ast.comprehension), Tree._target),
    **dict.fromkeys((ast.ExceptHandler, ast.MatchAs, ast.MatchStar), Tree._captured),
    **dict.fromkeys((ast.Import, ast.ImportFrom), Tree._imported),
    **dict.fromkeys((ast.Global, ast.Nonlocal), Tree._outer),
    ast.arg: Tree._parameter,
    ast.Assign: Tree._assignment,
    ast.withitem: Tree._context,
}


def parameters(node: Function) -> list[str]:
    """The names of a function's parameters by position."""
    return [each.arg for each in (*node.args.posonlyargs, *node.args.args)]


def _is_inside(scope: ast.AST, child: ast.AST) -> bool:
    """Whether this child of a scope is evaluated in it, and not where the scope is made."""
    match scope:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return isinstance(child, ast.stmt)
        case ast.Lambda():
            return child is scope.body
    return True


def _is_repeated(loop: Loop, child: ast.AST) -> bool:
    """Whether this child of a loop is evaluated at each turn."""
    match loop:
        case ast.For() | ast.AsyncFor():
            return child in loop.body
        case ast.While():
            return child not in loop.orelse
    return not (isinstance(child, ast.comprehension) and child is loop.generators[0])
