"""Walks over `ast` that pass by what holds no other node: `ast.walk` looks at every constant and every operator."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_EMPTY = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop, ast.type_ignore, ast.alias, ast.Constant)


def _kinds(kind: type[ast.AST]) -> Iterator[type[ast.AST]]:
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


WITH_NAMES: frozenset[type] = frozenset(kind for kind in _kinds(ast.AST) if not issubclass(kind, _EMPTY))
"""All kinds of nodes but constants, operators and the like."""

WITH_ALIASES: frozenset[type] = WITH_NAMES | {ast.alias}
"""These, and what an import imports."""

HOLDING: frozenset[type] = WITH_NAMES - {ast.Name, ast.arg, ast.Pass, ast.Break, ast.Continue}
"""The kinds of nodes in which others stand, or that bind a name as a statement of its own."""

_BARREN = frozenset(
    {
        *("ctx", "op", "ops", "kind", "id", "attr", "name", "arg", "asname", "module", "level", "rest"),
        *("annotation", "returns", "is_async", "simple", "conversion", "kwd_attrs", "lineno", "tag"),
        *("type_comment", "type_ignores", "type_params"),
    }
)

FIELDS: dict[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind._fields if name not in _BARREN) for kind in _kinds(ast.AST)
}
"""By the kind of a node the fields under which another may stand; annotations are no code."""


def below(node: ast.AST, kinds: frozenset[type] = HOLDING) -> list[ast.AST]:
    """The nodes of these kinds directly below one."""
    found = []
    for name in FIELDS[type(node)]:
        child = getattr(node, name)
        if type(child) is list:
            found += [each for each in child if type(each) in kinds]
        elif type(child) in kinds:
            found.append(child)
    return found


def walk(nodes: Iterable[ast.AST], kinds: frozenset[type] = HOLDING) -> Iterator[ast.AST]:
    """The nodes of these kinds at and below those, from the last to the first."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        stack += below(node, kinds)


def first_line(statement: ast.stmt) -> int:
    """The line on which a statement begins, its decorators among it."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
