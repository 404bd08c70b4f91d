"""What a function's body binds, so that a name can be followed to the one expression that it stands for."""

from __future__ import annotations

import ast
import functools

from statelint.source.terms import Term, annotation_head, from_ast
from statelint.source.tree import Function
from statelint.source.walking import below


class Binding:
    """What a scope binds a name to.

    Args:
        value: the one expression that is assigned to it; None for a parameter, and for a name that is assigned
            more than once or in a branch or loop, which is not followed.
        annotation: of a parameter or variable, dotted from the root.
        parameter: it is a parameter.
    """

    def __init__(self, value: ast.expr | Term | None, annotation: str = "", *, parameter: bool = False) -> None:
        self.annotation = annotation
        self.parameter = parameter
        self._value = value

    @functools.cached_property
    def term(self) -> Term | None:
        """The expression; most are never asked for."""
        return from_ast(self._value) if isinstance(self._value, ast.expr) else self._value


def bindings(node: Function) -> dict[str, Binding]:
    """The names that a function binds: its parameters, and what its body assigns."""
    body = _Body()
    if not isinstance(node, ast.Lambda):
        body.read(node.body)
    found = {
        name: Binding(values[0] if len(values) == 1 else None, body.annotated.get(name, ""))
        for name, values in body.assigned.items()
    }
    for each in arguments(node):
        head = annotation_head(each.annotation) if each.annotation is not None else ""
        found[each.arg] = Binding(None, head, parameter=True)
    return found


def arguments(node: Function) -> list[ast.arg]:
    """All parameters of a function."""
    given = node.args
    stars = [star for star in (given.vararg, given.kwarg) if star is not None]
    return [*given.posonlyargs, *given.args, *given.kwonlyargs, *stars]


class _Body:
    """Gathers what is assigned; None stands for what is not to be followed."""

    def __init__(self) -> None:
        self.assigned: dict[str, list[ast.expr | None]] = {}
        self.annotated: dict[str, str] = {}

    def read(self, body: list[ast.stmt]) -> None:
        stack: list[tuple[ast.AST, bool]] = [(each, True) for each in body]
        while stack:
            node, straight = stack.pop()
            if type(node) not in _BINDING:
                stack += [(child, straight) for child in below(node)]
                continue
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self._name(node.name, None)
                    continue
                case ast.Lambda():
                    continue
                case ast.Assign():
                    for target in node.targets:
                        self._bind(target, node.value if straight else None)
                case ast.AnnAssign(value=ast.expr() as value):
                    self._bind(node.target, value if straight else None)
                    if isinstance(node.target, ast.Name):
                        self.annotated[node.target.id] = annotation_head(node.annotation)
                case ast.AugAssign() | ast.For() | ast.AsyncFor() | ast.comprehension() | ast.NamedExpr():
                    self._bind(node.target, None)
                case ast.withitem(optional_vars=ast.expr() as target):
                    self._bind(target, None)
                case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                    self._name(name, None)
                case ast.Delete():
                    for target in node.targets:
                        self._bind(target, None)
            straight = straight and not isinstance(node, _BRANCHES)
            stack += [(child, straight) for child in below(node)]

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            self._name(target.id, value)
        elif isinstance(target, ast.Tuple | ast.List):
            values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
            paired = len(values) == len(target.elts) and not any(isinstance(each, ast.Starred) for each in values)
            for at, each in enumerate(target.elts):
                self._bind(each, values[at] if paired else None)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, None)

    def _name(self, name: str, value: ast.expr | None) -> None:
        self.assigned.setdefault(name, []).append(value)


_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.TryStar, ast.Match)

_BINDING = frozenset(
    {
        *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Assign, ast.AnnAssign, ast.AugAssign),
        *(ast.comprehension, ast.NamedExpr, ast.withitem, ast.ExceptHandler, ast.MatchAs, ast.Delete, *_BRANCHES),
    }
)
