"""LibCST's trees: parsed a statement at a time, walked by a stack, turned into terms."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator, Sequence

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from statelint.diagnostics import Location
from statelint.source.terms import Form, Part, Term, signed

_FRAMES = 6000
"""LibCST takes up to nine frames for a level of nesting, of which there may be hundreds."""


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes below that bear code: no whitespace, no punctuation."""
    for name in _bearing(type(node)):
        child = getattr(node, name)
        if isinstance(child, cst.CSTNode):
            yield child
        elif isinstance(child, Sequence) and not isinstance(child, str):
            yield from child


@functools.cache
def _bearing(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(
        field.name
        for field in dataclasses.fields(kind)
        if field.name not in _BARREN and not field.name.startswith("whitespace")
    )


_BARREN = frozenset(
    {
        *(
            "lpar",
            "rpar",
            "lbracket",
            "rbracket",
            "lbrace",
            "rbrace",
            "comma",
            "semicolon",
            "colon",
            "equal",
            "operator",
        ),
        *(
            "leading_lines",
            "lines_after_decorators",
            "trailing_whitespace",
            "header",
            "footer",
            "indent",
            "default_indent",
        ),
        *(
            "dot",
            "star",
            "asynchronous",
            "encoding",
            "default_newline",
            "has_trailing_newline",
            "quote",
            "prefix",
        ),
    }
)


def locator(module: cst.Module, path: str, first: int) -> Callable[[object], Location]:
    """Where the nodes of a statement stand in the file of which its first line is this one."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _FRAMES))
    try:
        positions = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
    finally:
        sys.setrecursionlimit(limit)

    def locate(node: object) -> Location:
        assert isinstance(node, cst.CSTNode)
        place = positions[node]
        return Location(
            path,
            place.start.line + first - 1,
            place.start.column + 1,
            place.end.line + first - 1,
            place.end.column + 1,
        )

    return locate


def from_cst(node: cst.BaseExpression) -> Term:
    """An expression as LibCST read it."""
    match node:
        case cst.Integer() | cst.Float():
            return Term("number", node, number=node.evaluated_value)
        case cst.SimpleString():
            return Term("string", node, name=_text(node) or "")
        case cst.ConcatenatedString() | cst.FormattedString():
            return Term("string", node)
        case cst.Name(value="None"):
            return Term("none", node)
        case cst.Name(value="True" | "False" as value):
            return Term("number", node, number=value == "True")
        case cst.Name() | cst.Attribute():
            name = dotted(node)
            return Term("name", node, name=name) if name else Term("other", node)
        case cst.Call():
            return _call(node)
        case cst.Tuple() | cst.List() | cst.Set():
            return Term(_SEQUENCES[type(node)], node, parts=tuple(_item(item) for item in node.elements))
        case cst.Dict():
            return Term("dict", node, parts=tuple(_pair(item) for item in node.elements))
        case cst.UnaryOperation(operator=cst.Minus() | cst.Plus() as operator, expression=operand):
            return signed(node, from_cst(operand), negative=isinstance(operator, cst.Minus))
        case cst.BinaryOperation():
            operator_name = _OPERATORS.get(type(node.operator), "")
            return Term("operation", node, name=operator_name, parts=(_plain(node.left), _plain(node.right)))
        case cst.IfExp():
            return Term("choice", node, parts=(_plain(node.body), _plain(node.orelse)))
        case cst.Lambda():
            params = node.params.params
            name = params[0].name.value if len(params) == 1 else ""
            return Term("lambda", node, parts=(_plain(node.body),), name=name)
        case cst.Subscript():
            return Term("subscript", node, name=_subscript(node), inner=from_cst(node.value))
    return Term("other", node)


def dotted(node: cst.CSTNode) -> str:
    """`a.b.c`; empty for anything else."""
    names: list[str] = []
    while isinstance(node, cst.Attribute):
        names.append(node.attr.value)
        node = node.value
    return ".".join([node.value, *reversed(names)]) if isinstance(node, cst.Name) else ""


def annotation_name(annotation: cst.Annotation | None) -> str:
    """The dotted head of an annotation, quoted or not."""
    node = annotation.annotation if annotation is not None else None
    if isinstance(node, cst.SimpleString):
        return (_text(node) or "").partition("[")[0].strip()
    if isinstance(node, cst.Subscript):
        node = node.value
    return dotted(node) if node is not None else ""


_OPERATORS: dict[type[cst.BaseBinaryOp], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
}


_SEQUENCES: dict[type[cst.BaseExpression], Form] = {cst.Tuple: "tuple", cst.List: "list", cst.Set: "set"}


def _plain(node: cst.BaseExpression) -> Part:
    return Part(None, from_cst(node))


def _call(node: cst.Call) -> Term:
    name = dotted(node.func)
    inner = None
    if isinstance(node.func, cst.Attribute):
        inner = from_cst(node.func.value)
        name = name or f".{node.func.attr.value}"
    parts = tuple(
        Part(
            argument.keyword.value if argument.keyword else None,
            from_cst(argument.value),
            bool(argument.star),
        )
        for argument in node.args
    )
    return Term("call", node, name=name, parts=parts, inner=inner)


def _item(item: cst.BaseElement) -> Part:
    return Part(None, from_cst(item.value), isinstance(item, cst.StarredElement))


def _pair(item: cst.BaseDictElement) -> Part:
    if isinstance(item, cst.DictElement):
        key = _text(item.key) if isinstance(item.key, cst.SimpleString) else None
        return Part(key, from_cst(item.value))
    return Part(None, from_cst(item.value), starred=True)


def _subscript(node: cst.Subscript) -> str:
    """The key, where it is a literal string; `:` for all of it."""
    if len(node.slice) != 1:
        return ""
    match node.slice[0].slice:
        case cst.Index(value=cst.SimpleString() as key):
            return _text(key) or ""
        case cst.Slice(lower=None, upper=None, step=None):
            return ":"
    return ""


def _text(node: cst.SimpleString) -> str | None:
    value = node.evaluated_value
    return value if isinstance(value, str) else None
