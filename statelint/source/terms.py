"""Expressions in one shape, whether `ast` or LibCST read them: as much of them as the rules need."""

from __future__ import annotations

import ast
from collections.abc import Iterator
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
    match node:
        case ast.Constant(value=None):
            return Term("none", node)
        case ast.Constant(value=bool() | int() | float() | complex() as value):
            return Term("number", node, number=value)
        case ast.Constant(value=str() as value):
            return Term("string", node, name=value)
        case ast.Name() | ast.Attribute():
            name = dotted(node)
            return Term("name", node, name=name) if name else Term("other", node)
        case ast.Call():
            arguments = [_item(argument) for argument in node.args]
            keywords = [Part(word.arg, from_ast(word.value), word.arg is None) for word in node.keywords]
            inner = from_ast(node.func.value) if isinstance(node.func, ast.Attribute) else None
            name = dotted(node.func) or (f".{node.func.attr}" if isinstance(node.func, ast.Attribute) else "")
            return Term("call", node, name=name, parts=(*arguments, *keywords), inner=inner)
        case ast.Tuple() | ast.List() | ast.Set():
            return Term(_SEQUENCES[type(node)], node, parts=tuple(_item(item) for item in node.elts))
        case ast.Dict():
            pairs = [
                Part(_key(key), from_ast(value), key is None) for key, value in zip(node.keys, node.values, strict=True)
            ]
            return Term("dict", node, parts=tuple(pairs))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as operator, operand=operand):
            return signed(node, from_ast(operand), negative=isinstance(operator, ast.USub))
        case ast.BinOp():
            operator_name = _OPERATORS.get(type(node.op), "")
            return Term("operation", node, name=operator_name, parts=(_item(node.left), _item(node.right)))
        case ast.IfExp():
            return Term("choice", node, parts=(_item(node.body), _item(node.orelse)))
        case ast.Lambda():
            return Term("lambda", node, parts=(_item(node.body),), name=_parameter(node))
        case ast.Subscript():
            return Term("subscript", node, name=_key(node.slice) or "", inner=from_ast(node.value))
    return Term("other", node)


def signed(node: object, operand: Term, *, negative: bool) -> Term:
    """`-x` or `+x`, as a number where `x` is one."""
    if operand.form == "number" and operand.number is not None and not isinstance(operand.number, bool):
        return Term("number", node, number=-operand.number if negative else operand.number)
    return Term("operation", node, name="-", parts=(Part(None, operand),))


def dotted(node: ast.expr) -> str:
    """`a.b.c`; empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(names)])


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


def _parameter(node: ast.Lambda) -> str:
    """The one parameter of a lambda."""
    return node.args.args[0].arg if len(node.args.args) == 1 else ""
