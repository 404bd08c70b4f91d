"""Expressions in one shape: as much of them as the rules need."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

Form = Literal[
    "number",
    "string",
    "none",
    "name",
    "call",
    "tuple",
    "list",
    "set",
    "dict",
    "lambda",
    "operation",
    "choice",
    "subscript",
    "other",
]


class Part(msgspec.Struct, frozen=True):
    """An argument of a call, an item of a literal or an operand.

    Attributes:
        name: the keyword, or the key of a dict where it is a literal string; None: by position, or computed.
        starred: `*value` or `**value`: nobody knows what comes.
    """

    name: str | None
    value: Term
    starred: bool = False


class Term(msgspec.Struct, frozen=True):
    """An expression.

    Attributes:
        node: the node of the tree it was read from, by which its place is found.
        name: dotted, of a name or of what is called (`.attribute` when that is no dotted name); the key of a
            subscript by a literal string, `:` for all; the operator; the one parameter of a lambda.
        number: the value of a literal number or bool.
        parts: arguments, items, operands, or the two branches of a choice.
        inner: what is subscripted, or what the called attribute is an attribute of.
    """

    form: Form
    node: Any
    name: str = ""
    number: int | float | complex | None = None
    parts: tuple[Part, ...] = ()
    inner: Term | None = None

    @property
    def last(self) -> str:
        """The last of the dotted name."""
        return self.name.rsplit(".", 1)[-1]

    @property
    def positional(self) -> tuple[Term, ...]:
        """The parts without a name, up to the first starred one."""
        found = []
        for part in self.parts:
            if part.starred:
                break
            if part.name is None:
                found.append(part.value)
        return tuple(found)

    @property
    def starred(self) -> bool:
        """Some part is starred."""
        return any(part.starred for part in self.parts)

    def keyword(self, name: str) -> Term | None:
        """The part of this name."""
        return next((part.value for part in self.parts if part.name == name), None)

    def argument(self, position: int, name: str) -> Term | None:
        """The argument at this position or of this name."""
        positional = self.positional
        return positional[position] if position < len(positional) else self.keyword(name)

    def walk(self) -> Iterator[Term]:
        """This and all below it."""
        stack = [self]
        while stack:
            term = stack.pop()
            yield term
            stack.extend(part.value for part in term.parts)


def from_ast(node: ast.expr) -> Term:
    """An expression as `ast` read it."""
    make = _FORMS.get(type(node))
    return make(node) if make is not None else Term("other", node)


def _constant(node: ast.Constant) -> Term:
    value = node.value
    if value is None:
        return Term("none", node)
    if isinstance(value, str | bytes):
        return Term("string", node, name=value if isinstance(value, str) else "")
    return Term("number", node, number=value) if isinstance(value, int | float | complex) else Term("other", node)


def _name(node: ast.expr) -> Term:
    name = dotted(node)
    return Term("name", node, name=name) if name else Term("other", node)


def _call(node: ast.Call) -> Term:
    parts = [_item(each) for each in node.args]
    parts += [Part(word.arg, from_ast(word.value), word.arg is None) for word in node.keywords]
    inner, name = None, dotted(node.func)
    if isinstance(node.func, ast.Attribute):
        inner, name = from_ast(node.func.value), name or f".{node.func.attr}"
    return Term("call", node, name, parts=tuple(parts), inner=inner)


def _sequence(node: ast.Tuple | ast.List | ast.Set) -> Term:
    return Term(_SEQUENCES[type(node)], node, parts=tuple(map(_item, node.elts)))


def _dict(node: ast.Dict) -> Term:
    pairs = zip(node.keys, node.values, strict=True)
    return Term("dict", node, parts=tuple(Part(_key(key), from_ast(value), key is None) for key, value in pairs))


def _unary(node: ast.UnaryOp) -> Term:
    if not isinstance(node.op, ast.USub | ast.UAdd):
        return Term("other", node)
    operand, negative = from_ast(node.operand), isinstance(node.op, ast.USub)
    if operand.form == "number" and operand.number is not None and not isinstance(operand.number, bool):
        return Term("number", node, number=-operand.number if negative else operand.number)
    return Term("operation", node, name="-", parts=(Part(None, operand),))


def _operation(node: ast.BinOp) -> Term:
    return Term("operation", node, _OPERATORS.get(type(node.op), ""), parts=(_item(node.left), _item(node.right)))


def _choice(node: ast.IfExp) -> Term:
    return Term("choice", node, parts=(_item(node.body), _item(node.orelse)))


def _lambda(node: ast.Lambda) -> Term:
    """The one parameter of a lambda is its name."""
    name = node.args.args[0].arg if len(node.args.args) == 1 else ""
    return Term("lambda", node, name, parts=(_item(node.body),))


def _subscript(node: ast.Subscript) -> Term:
    within = node.slice
    is_all = isinstance(within, ast.Slice) and within.lower is within.upper is within.step is None
    return Term("subscript", node, ":" if is_all else _key(within) or "", inner=from_ast(node.value))


def _text(node: ast.JoinedStr) -> Term:
    return Term("string", node)


_FORMS: dict[type[ast.expr], Callable[[Any], Term]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _name,
    ast.Call: _call,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.UnaryOp: _unary,
    ast.BinOp: _operation,
    ast.IfExp: _choice,
    ast.Lambda: _lambda,
    ast.Subscript: _subscript,
    ast.JoinedStr: _text,
}


def dotted(node: ast.AST) -> str:
    """`a.b.c`; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if not isinstance(node, ast.Attribute):
        return ""
    owner = dotted(node.value)
    return f"{owner}.{node.attr}" if owner else ""


def annotation_head(node: ast.expr) -> str:
    """The dotted name of an annotation, quoted or not, without its subscript."""
    if isinstance(node, ast.Subscript):
        return dotted(node.value)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.partition("[")[0].strip()
    return dotted(node)


def is_class_name(written: str) -> bool:
    """Whether a class may be called so."""
    last = written.rpartition(".")[2].lstrip("_")
    return last[:1].isupper() or last == "cls"


_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


_SEQUENCES: dict[type[ast.expr], Form] = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}


def _item(node: ast.expr) -> Part:
    if isinstance(node, ast.Starred):
        return Part(None, from_ast(node.value), starred=True)
    return Part(None, from_ast(node))


def _key(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
