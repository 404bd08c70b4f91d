"""LibCST's expressions as nodes of `ast`, at the places where `ast` itself would put them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_CONSTANTS = {"None": None, "True": True, "False": False}

_OPERATORS: dict[str, type[Any]] = {
    each.__name__: each for kind in (ast.operator, ast.boolop, ast.unaryop, ast.cmpop) for each in kind.__subclasses__()
} | {
    "Subtract": ast.Sub,
    "Multiply": ast.Mult,
    "Divide": ast.Div,
    "FloorDivide": ast.FloorDiv,
    "Modulo": ast.Mod,
    "Power": ast.Pow,
    "MatrixMultiply": ast.MatMult,
    "LeftShift": ast.LShift,
    "RightShift": ast.RShift,
    "Minus": ast.USub,
    "Plus": ast.UAdd,
    "BitInvert": ast.Invert,
    "Equal": ast.Eq,
    "NotEqual": ast.NotEq,
    "LessThan": ast.Lt,
    "LessThanEqual": ast.LtE,
    "GreaterThan": ast.Gt,
    "GreaterThanEqual": ast.GtE,
}
"""Operators by LibCST's names for them."""


class Expressions:
    def __init__(self, positions: Any, lines: Sequence[str]) -> None:
        self.positions = positions
        self.lines = lines

    # Places.

    def place(self, first: cst.CSTNode, last: cst.CSTNode | None = None) -> dict[str, int]:
        start, end = self.positions[first].start, self.positions[last or first].end
        return {
            "lineno": start.line,
            "col_offset": self.bytes_before(start.line, start.column),
            "end_lineno": end.line,
            "end_col_offset": self.bytes_before(end.line, end.column),
        }

    def bytes_before(self, line: int, column: int) -> int:
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return column if text.isascii() else len(text[:column].encode())

    # What stands anywhere.

    def expr(self, node: Any) -> Any:
        made = getattr(self, type(node).__name__)(node)
        if isinstance(made, ast.AST) and not hasattr(made, "lineno"):
            for name, value in self.place(node).items():
                setattr(made, name, value)
        return made

    def maybe(self, node: Any) -> Any:
        return self.expr(node) if isinstance(node, cst.CSTNode) else None

    def exprs(self, nodes: Iterable[Any]) -> list[Any]:
        return [self.expr(node) for node in nodes]

    def stored(self, node: Any, context: type[Any] = ast.Store) -> Any:
        """A target."""
        made = self.expr(node) if isinstance(node, cst.CSTNode) else node
        made.ctx = context()
        for each in getattr(made, "elts", None) or ([made.value] if isinstance(made, ast.Starred) else []):
            self.stored(each, context)
        return made

    def between(self, node: Any, made: ast.expr) -> ast.expr:
        """At the brackets that are its own, or up to the comma that makes it a tuple."""
        if node.lpar:
            place = self.place(node.lpar[-1], node.rpar[0])
        else:
            place = self.place(node, _comma(getattr(node, "elements", ())))
        for name, value in place.items():
            setattr(made, name, value)
        return made

    # Names and literals.

    def Name(self, node: cst.Name) -> ast.expr:
        if node.value in _CONSTANTS:
            return ast.Constant(_CONSTANTS[node.value])
        return ast.Name(node.value, ast.Load())

    def Integer(self, node: cst.Integer | cst.Float) -> ast.expr:
        return ast.Constant(node.evaluated_value)

    Float = Integer

    def Imaginary(self, node: cst.Imaginary) -> ast.expr:
        return ast.Constant(ast.literal_eval(node.value))

    def Ellipsis(self, node: cst.Ellipsis) -> ast.expr:
        return ast.Constant(...)

    def SimpleString(self, node: cst.SimpleString) -> ast.expr:
        return ast.Constant(ast.literal_eval(node.value))

    def ConcatenatedString(self, node: cst.ConcatenatedString) -> ast.expr:
        parts: list[Any] = []
        stack: list[Any] = [node]
        while stack:
            each = stack.pop()
            if isinstance(each, cst.ConcatenatedString):
                stack += [each.right, each.left]
            else:
                parts.append(self.expr(each))
        if all(isinstance(part, ast.Constant) for part in parts):
            return ast.Constant(type(parts[0].value)().join(part.value for part in parts))
        return ast.JoinedStr([each for part in parts for each in getattr(part, "values", [part])])

    def FormattedString(self, node: cst.FormattedString) -> ast.expr:
        return ast.JoinedStr(self.exprs(node.parts))

    def FormattedStringText(self, node: cst.FormattedStringText) -> ast.expr:
        return ast.Constant(node.value)

    def FormattedStringExpression(self, node: cst.FormattedStringExpression) -> ast.expr:
        conversion = ord(node.conversion) if node.conversion else -1
        spec = ast.JoinedStr(self.exprs(node.format_spec), **self.place(node)) if node.format_spec else None
        return ast.FormattedValue(self.expr(node.expression), conversion, spec)

    def Tuple(self, node: cst.Tuple) -> ast.expr:
        return self.between(node, ast.Tuple(self.exprs(node.elements), ast.Load()))

    def List(self, node: cst.List) -> ast.expr:
        return ast.List(self.exprs(node.elements), ast.Load())

    def Set(self, node: cst.Set) -> ast.expr:
        return ast.Set(self.exprs(node.elements))

    def Element(self, node: cst.Element) -> ast.expr:
        made: ast.expr = self.expr(node.value)
        return made

    def StarredElement(self, node: cst.StarredElement) -> ast.expr:
        return ast.Starred(self.expr(node.value), ast.Load())

    def Dict(self, node: cst.Dict) -> ast.expr:
        keys = [self.expr(each.key) if isinstance(each, cst.DictElement) else None for each in node.elements]
        return ast.Dict(keys, [self.expr(each.value) for each in node.elements])

    # Operations.

    def operator(self, node: cst.CSTNode) -> Any:
        return _OPERATORS[type(node).__name__.removesuffix("Assign")]()

    def UnaryOperation(self, node: cst.UnaryOperation) -> ast.expr:
        return ast.UnaryOp(self.operator(node.operator), self.expr(node.expression))

    def BinaryOperation(self, node: cst.BinaryOperation) -> ast.expr:
        return ast.BinOp(self.expr(node.left), self.operator(node.operator), self.expr(node.right))

    def BooleanOperation(self, node: cst.BooleanOperation) -> ast.expr:
        right = [self.expr(node.right)]
        left: Any = node.left
        while isinstance(left, cst.BooleanOperation) and not left.lpar and type(left.operator) is type(node.operator):
            right.insert(0, self.expr(left.right))
            left = left.left
        return ast.BoolOp(self.operator(node.operator), [self.expr(left), *right])

    def Comparison(self, node: cst.Comparison) -> ast.expr:
        operators = [self.operator(each.operator) for each in node.comparisons]
        return ast.Compare(self.expr(node.left), operators, [self.expr(each.comparator) for each in node.comparisons])

    def IfExp(self, node: cst.IfExp) -> ast.expr:
        return ast.IfExp(self.expr(node.test), self.expr(node.body), self.expr(node.orelse))

    def NamedExpr(self, node: cst.NamedExpr) -> ast.expr:
        return ast.NamedExpr(self.stored(node.target), self.expr(node.value))

    def Await(self, node: cst.Await) -> ast.expr:
        return ast.Await(self.expr(node.expression))

    def Yield(self, node: cst.Yield) -> ast.expr:
        if isinstance(node.value, cst.From):
            return ast.YieldFrom(self.expr(node.value.item))
        return ast.Yield(self.maybe(node.value))

    def Attribute(self, node: cst.Attribute) -> ast.expr:
        return ast.Attribute(self.expr(node.value), node.attr.value, ast.Load())

    def Subscript(self, node: cst.Subscript) -> ast.expr:
        inner = self.exprs(node.slice)
        is_one = len(inner) == 1 and not isinstance(inner[0], ast.Starred)
        is_one = is_one and not isinstance(node.slice[0].comma, cst.Comma)
        place = self.place(node.slice[0], _comma(node.slice) or node.slice[-1])
        within = inner[0] if is_one else ast.Tuple(inner, ast.Load(), **place)
        return ast.Subscript(self.expr(node.value), within, ast.Load())

    def SubscriptElement(self, node: cst.SubscriptElement) -> ast.expr:
        made: ast.expr = self.expr(node.slice)
        return made

    def Index(self, node: cst.Index) -> ast.expr:
        made: ast.expr = self.expr(node.value)
        return ast.Starred(made, ast.Load()) if node.star else made

    def Slice(self, node: cst.Slice) -> ast.expr:
        return ast.Slice(self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step))

    # Calls and functions.

    def Call(self, node: cst.Call) -> ast.expr:
        given, words = self.arguments(node.args)
        if len(given) == 1 and isinstance(node.args[0].value, cst.GeneratorExp) and not node.args[0].value.lpar:
            self.bracketed(given[0], node)
        return ast.Call(self.expr(node.func), given, words)

    def bracketed(self, made: ast.expr, node: cst.Call) -> None:
        """A generator expression that is a call's only argument has the call's brackets."""
        start = self.positions[node.whitespace_before_args].start
        made.lineno, made.col_offset = start.line, self.bytes_before(start.line, start.column - 1)
        made.end_lineno, made.end_col_offset = (self.place(node)[name] for name in ("end_lineno", "end_col_offset"))

    def arguments(self, nodes: Sequence[cst.Arg]) -> tuple[list[ast.expr], list[ast.keyword]]:
        given: list[ast.expr] = []
        words: list[ast.keyword] = []
        for each in nodes:
            value = self.expr(each.value)
            if each.keyword is not None or each.star == "**":
                words.append(ast.keyword(each.keyword.value if each.keyword else None, value, **self.place(each)))
            else:
                given.append(ast.Starred(value, ast.Load(), **self.place(each)) if each.star else value)
        return given, words

    def Lambda(self, node: cst.Lambda) -> ast.expr:
        return ast.Lambda(self.parameters(node.params), self.expr(node.body))

    def parameters(self, node: cst.Parameters) -> ast.arguments:
        positional = [*node.posonly_params, *node.params]
        star, double = node.star_arg, node.star_kwarg
        return ast.arguments(
            [self.parameter(each) for each in node.posonly_params],
            [self.parameter(each) for each in node.params],
            self.parameter(star) if isinstance(star, cst.Param) else None,
            [self.parameter(each) for each in node.kwonly_params],
            [self.maybe(each.default) for each in node.kwonly_params],
            self.parameter(double) if double is not None else None,
            [self.expr(each.default) for each in positional if each.default is not None],
        )

    def parameter(self, node: cst.Param) -> ast.arg:
        annotation = node.annotation.annotation if node.annotation is not None else None
        return ast.arg(node.name.value, self.maybe(annotation), **self.place(node.name, annotation or node.name))

    # Comprehensions.

    def GeneratorExp(self, node: cst.GeneratorExp) -> ast.expr:
        return self.between(node, ast.GeneratorExp(self.expr(node.elt), self.generators(node.for_in)))

    def ListComp(self, node: cst.ListComp) -> ast.expr:
        return ast.ListComp(self.expr(node.elt), self.generators(node.for_in))

    def SetComp(self, node: cst.SetComp) -> ast.expr:
        return ast.SetComp(self.expr(node.elt), self.generators(node.for_in))

    def DictComp(self, node: cst.DictComp) -> ast.expr:
        return ast.DictComp(self.expr(node.key), self.expr(node.value), self.generators(node.for_in))

    def generators(self, node: cst.CompFor | None) -> list[ast.comprehension]:
        found = []
        while node is not None:
            tests = [self.expr(each.test) for each in node.ifs]
            found.append(
                ast.comprehension(
                    self.stored(node.target), self.expr(node.iter), tests, int(node.asynchronous is not None)
                )
            )
            node = node.inner_for_in
        return found


def _comma(nodes: Sequence[Any]) -> cst.Comma | None:
    """The comma after the last of them."""
    comma = nodes[-1].comma if nodes else None
    return comma if isinstance(comma, cst.Comma) else None
