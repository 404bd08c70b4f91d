"""A file's `ast` with a way up: the function, the loop and the bindings around any node."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Loop = ast.For | ast.AsyncFor | ast.While | Comprehension


_BARE = frozenset({ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop})
"""Kinds of nodes that hold nothing, of which one object stands in many places."""


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
        for node in self.nodes:  # grows as it is walked
            for name in node._fields:
                child = getattr(node, name, None)
                for each in child if isinstance(child, list) else (child,):
                    if isinstance(each, ast.AST) and type(each).__base__ not in _BARE:
                        self.parents[each] = node
                        self.nodes.append(each)
        self._bindings: dict[ast.AST, dict[str, list[Binding]]] = {}
        self._gather()

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """What stands around a node, from the inside out, each with the child through which it is reached."""
        child = node
        while child in self.parents:
            parent = self.parents[child]
            yield parent, child
            child = parent

    def scope(self, node: ast.AST) -> Scope:
        """The scope in which a node is evaluated; decorators and defaults belong to the outer one."""
        for parent, child in self.around(node):
            if isinstance(parent, Scope) and _is_inside(parent, child):
                return parent
        return self.module

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

    def _gather(self) -> None:
        for node in self.nodes:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self._bind(node, node.name, Binding(node))
                case ast.arg():
                    self._bind_in(self.parents[self.parents[node]], node.arg, Binding(node))
                case ast.Assign():
                    for target in node.targets:
                        self._targets(target, node, node.value)
                case (
                    ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(target=target, value=value)
                ):
                    self._targets(target, node, value)
                case ast.AugAssign() | ast.For() | ast.AsyncFor() | ast.comprehension():
                    self._targets(node.target, node, None)
                case ast.withitem(optional_vars=ast.expr() as target):
                    self._targets(target, node, None)
                case ast.ExceptHandler(name=str() as name):
                    self._bind(node, name, Binding(node))
                case ast.Import() | ast.ImportFrom():
                    for alias in node.names:
                        self._bind(node, alias.asname or alias.name.partition(".")[0], Binding(node))
                case ast.MatchAs(name=str() as name) | ast.MatchStar(name=str() as name):
                    self._bind(node, name, Binding(node))
                case ast.Global() | ast.Nonlocal():
                    self._outer(node)

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
