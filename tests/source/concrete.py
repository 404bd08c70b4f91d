"""LibCST's tree of a file as one of `ast`: every node of it, at the places where `ast` itself would put it."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from tests.source.concrete_expressions import Expressions

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FRAMES = 20_000
"""LibCST takes up to nine frames for a level of nesting."""


def convert(content: str, lines: Sequence[str]) -> ast.Module:
    """The tree of a file, given its text and that by lines.

    Raises:
        libcst.ParserSyntaxError: it is no Python.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(_FRAMES)
    try:
        module = cst.parse_module(content)
        positions = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
        return _Statements(positions, lines).module(module)
    finally:
        sys.setrecursionlimit(limit)


class _Statements(Expressions):
    def module(self, node: cst.Module) -> ast.Module:
        return ast.Module(self.block(node.body), [])

    def block(self, nodes: Iterable[Any]) -> list[Any]:
        lines = (each.body if isinstance(each, cst.SimpleStatementLine) else [each] for each in nodes)
        return [self.expr(each) for line in lines for each in line]

    def orelse(self, node: Any) -> list[Any]:
        if node is None:
            return []
        return [self.expr(node)] if isinstance(node, cst.If) else self.block(node.body.body)

    # Simple ones.

    def Expr(self, node: cst.Expr) -> ast.stmt:
        return ast.Expr(self.expr(node.value))

    def Assign(self, node: cst.Assign) -> ast.stmt:
        return ast.Assign([self.stored(each.target) for each in node.targets], self.expr(node.value))

    def AnnAssign(self, node: cst.AnnAssign) -> ast.stmt:
        is_simple = isinstance(node.target, cst.Name) and not node.target.lpar
        annotation = self.expr(node.annotation.annotation)
        return ast.AnnAssign(self.stored(node.target), annotation, self.maybe(node.value), int(is_simple))

    def AugAssign(self, node: cst.AugAssign) -> ast.stmt:
        return ast.AugAssign(self.stored(node.target), self.operator(node.operator), self.expr(node.value))

    def Return(self, node: cst.Return) -> ast.stmt:
        return ast.Return(self.maybe(node.value))

    def Raise(self, node: cst.Raise) -> ast.stmt:
        return ast.Raise(self.maybe(node.exc), self.expr(node.cause.item) if node.cause is not None else None)

    def Assert(self, node: cst.Assert) -> ast.stmt:
        return ast.Assert(self.expr(node.test), self.maybe(node.msg))

    def Pass(self, node: cst.Pass) -> ast.stmt:
        return ast.Pass()

    def Break(self, node: cst.Break) -> ast.stmt:
        return ast.Break()

    def Continue(self, node: cst.Continue) -> ast.stmt:
        return ast.Continue()

    def Del(self, node: cst.Del) -> ast.stmt:
        is_list = isinstance(node.target, cst.Tuple) and not node.target.lpar
        targets = [each.value for each in node.target.elements] if is_list else [node.target]  # type: ignore[union-attr]
        return ast.Delete([self.stored(each, ast.Del) for each in targets])

    def Global(self, node: cst.Global) -> ast.stmt:
        return ast.Global([each.name.value for each in node.names])

    def Nonlocal(self, node: cst.Nonlocal) -> ast.stmt:
        return ast.Nonlocal([each.name.value for each in node.names])

    def Import(self, node: cst.Import) -> ast.stmt:
        return ast.Import(self.exprs(node.names))

    def ImportFrom(self, node: cst.ImportFrom) -> ast.stmt:
        names = (
            [ast.alias("*", **self.place(node))] if isinstance(node.names, cst.ImportStar) else self.exprs(node.names)
        )
        return ast.ImportFrom(_dotted(node.module) if node.module is not None else None, names, len(node.relative))

    def ImportAlias(self, node: cst.ImportAlias) -> ast.alias:
        return ast.alias(_dotted(node.name), _dotted(node.asname.name) if node.asname is not None else None)

    # Those with a body.

    def If(self, node: cst.If) -> ast.stmt:
        return ast.If(self.expr(node.test), self.block(node.body.body), self.orelse(node.orelse))

    def While(self, node: cst.While) -> ast.stmt:
        return ast.While(self.expr(node.test), self.block(node.body.body), self.orelse(node.orelse))

    def For(self, node: cst.For) -> ast.stmt:
        kind = ast.For if node.asynchronous is None else ast.AsyncFor
        body = self.block(node.body.body)
        return kind(self.stored(node.target), self.expr(node.iter), body, self.orelse(node.orelse))

    def With(self, node: cst.With) -> ast.stmt:
        kind = ast.With if node.asynchronous is None else ast.AsyncWith
        items = [
            ast.withitem(self.expr(each.item), self.stored(each.asname.name) if each.asname is not None else None)
            for each in node.items
        ]
        return kind(items, self.block(node.body.body))

    def Try(self, node: cst.Try | cst.TryStar) -> ast.stmt:
        kind = ast.Try if isinstance(node, cst.Try) else ast.TryStar
        return kind(
            self.block(node.body.body),
            self.exprs(node.handlers),
            self.orelse(node.orelse),
            self.orelse(node.finalbody),
        )

    TryStar = Try

    def ExceptHandler(self, node: cst.ExceptHandler | cst.ExceptStarHandler) -> ast.ExceptHandler:
        name = node.name.name.value if node.name is not None and isinstance(node.name.name, cst.Name) else None
        return ast.ExceptHandler(self.maybe(node.type), name, self.block(node.body.body))

    ExceptStarHandler = ExceptHandler

    def FunctionDef(self, node: cst.FunctionDef) -> ast.stmt:
        kind = ast.FunctionDef if node.asynchronous is None else ast.AsyncFunctionDef
        return kind(
            name=node.name.value,
            args=self.parameters(node.params),
            body=self.block(node.body.body),
            decorator_list=[self.expr(each.decorator) for each in node.decorators],
            returns=self.expr(node.returns.annotation) if node.returns is not None else None,
            type_comment=None,
            **({"type_params": []} if sys.version_info >= (3, 12) else {}),
        )

    def ClassDef(self, node: cst.ClassDef) -> ast.stmt:
        bases, keywords = self.arguments([*node.bases, *node.keywords])
        return ast.ClassDef(
            name=node.name.value,
            bases=bases,
            keywords=keywords,
            body=self.block(node.body.body),
            decorator_list=[self.expr(each.decorator) for each in node.decorators],
            **({"type_params": []} if sys.version_info >= (3, 12) else {}),
        )

    # Patterns.

    def Match(self, node: cst.Match) -> ast.stmt:
        cases = [
            ast.match_case(self.expr(each.pattern), self.maybe(each.guard), self.block(each.body.body))
            for each in node.cases
        ]
        return ast.Match(self.expr(node.subject), cases)

    def MatchValue(self, node: cst.MatchValue) -> ast.pattern:
        return ast.MatchValue(self.expr(node.value))

    def MatchSingleton(self, node: cst.MatchSingleton) -> ast.pattern:
        return ast.MatchSingleton(self.expr(node.value).value)

    def MatchTuple(self, node: cst.MatchTuple | cst.MatchList) -> ast.pattern:
        return ast.MatchSequence(self.exprs(node.patterns))

    MatchList = MatchTuple

    def MatchSequenceElement(self, node: cst.MatchSequenceElement) -> ast.pattern:
        made: ast.pattern = self.expr(node.value)
        return made

    def MatchStar(self, node: cst.MatchStar) -> ast.pattern:
        return ast.MatchStar(node.name.value if node.name is not None else None)

    def MatchMapping(self, node: cst.MatchMapping) -> ast.pattern:
        keys = [self.expr(each.key) for each in node.elements]
        rest = node.rest.value if node.rest is not None else None
        return ast.MatchMapping(keys, [self.expr(each.pattern) for each in node.elements], rest)

    def MatchClass(self, node: cst.MatchClass) -> ast.pattern:
        words = [each.key.value for each in node.kwds]
        values = [self.expr(each.pattern) for each in node.kwds]
        return ast.MatchClass(self.expr(node.cls), self.exprs(node.patterns), words, values)

    def MatchAs(self, node: cst.MatchAs) -> ast.pattern:
        return ast.MatchAs(self.maybe(node.pattern), node.name.value if node.name is not None else None)

    def MatchOr(self, node: cst.MatchOr) -> ast.pattern:
        return ast.MatchOr([self.expr(each.pattern) for each in node.patterns])


def _dotted(node: cst.BaseExpression) -> str:
    return (
        f"{_dotted(node.value)}.{node.attr.value}"
        if isinstance(node, cst.Attribute)
        else cst.ensure_type(node, cst.Name).value
    )
