"""Classes as a file declares them: their bases, decorators, fields, and the methods that build them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from statelint.diagnostics import Location
from statelint.source.terms import Term, from_ast
from statelint.source.text import Text


class FieldOutline(msgspec.Struct, frozen=True):
    """An annotated name in a class's body."""

    name: str
    at: Location
    annotation: ast.expr
    value: Term | None


class ClassOutline(msgspec.Struct, frozen=True):
    """A class as written.

    Attributes:
        name: dotted, with the functions and classes around it.
        bodies: its methods that build it, take it apart and put it together, until the file is read.
    """

    name: str
    at: Location
    bases: tuple[Term, ...]
    decorators: tuple[Term, ...]
    fields: tuple[FieldOutline, ...]
    methods: frozenset[str]
    bodies: dict[str, ast.FunctionDef] = {}

    @property
    def short(self) -> str:
        """Its own name."""
        return self.name.rpartition(".")[2]


def class_outline(node: ast.ClassDef, name: str, text: Text) -> ClassOutline:
    """A class as written; ``name`` is dotted."""
    fields = tuple(
        FieldOutline(
            name=item.target.id,
            at=text.at(item.target),
            annotation=item.annotation,
            value=from_ast(item.value) if item.value is not None else None,
        )
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    )
    return ClassOutline(
        name=name,
        at=Location(text.path, node.lineno, text.at(node).column),
        bases=tuple(from_ast(base) for base in node.bases),
        decorators=tuple(from_ast(decorator) for decorator in node.decorator_list),
        fields=fields,
        methods=frozenset(item.name for item in node.body if isinstance(item, ast.FunctionDef)),
        bodies=dict(_building(node.body)),
    )


def _building(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The methods that build a class, take it apart and put it together; under an `if` too."""
    for item in body:
        if isinstance(item, ast.FunctionDef) and item.name in _BUILDING:
            yield item.name, item
        elif isinstance(item, ast.If):
            yield from _building([*item.body, *item.orelse])


_BUILDING = frozenset({"__init__", "__post_init__", "tree_flatten", "tree_flatten_with_keys", "tree_unflatten"})


def named_tuple(node: ast.Call, scope: str, text: Text) -> ClassOutline | None:
    """`Name = namedtuple("Name", "a b")`, as if it were written as a class."""
    match node.args[0], node.args[1]:
        case ast.Constant(value=str() as name), ast.Constant(value=str() as words):
            named: list[tuple[str, ast.expr]] = [(word, node.args[1]) for word in words.replace(",", " ").split()]
        case ast.Constant(value=str() as name), ast.List(elts=items) | ast.Tuple(elts=items):
            firsts = [item.elts[0] if isinstance(item, ast.Tuple) and item.elts else item for item in items]
            named = [(str(item.value), item) for item in firsts if isinstance(item, ast.Constant)]
        case _:
            return None
    unknown = ast.copy_location(ast.Constant(...), node.args[1])
    fields = tuple(FieldOutline(word, text.at(at), unknown, None) for word, at in named)
    full = f"{scope}.{name}" if scope else name
    base = Term("name", node, name="typing.NamedTuple")
    return ClassOutline(full, text.at(node), (base,), (), fields, frozenset())
