"""Code newer than the running Python, lowered until `ast` takes it; every line stays where it is.

LibCST reads newer grammars than the Python it runs under. What it accepts is rewritten: type parameters go,
`type` statements become assignments, f-strings become plain strings of as many lines.
"""

from __future__ import annotations

import ast
import warnings

import libcst as cst

from statelint.source.text import Text

MAX_NESTING = 100
"""Code with more brackets open than this is not handed to LibCST, whose parser recurses."""


def parse(text: Text) -> ast.Module | None:
    """The tree of the lowered text; None when LibCST refuses it too, or it is still too new."""
    if _nesting(text.content) > MAX_NESTING:
        return None
    try:
        module = cst.parse_module("".join(f"{line}\n" for line in text.lines))
        lowered = module.visit(_Lower()).code
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(lowered)
    except (
        cst.ParserSyntaxError,
        cst.CSTValidationError,
        SyntaxError,
        ValueError,
        RecursionError,
        MemoryError,
    ):
        return None


def _nesting(content: str) -> int:
    """The most brackets that are open at once, strings and comments not told apart."""
    depth = deepest = 0
    for character in content:
        if character in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]}":
            depth = max(depth - 1, 0)
    return deepest


class _Lower(cst.CSTTransformer):
    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        return updated_node.with_changes(type_parameters=None)

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        return updated_node.with_changes(type_parameters=None)

    def leave_TypeAlias(self, original_node: cst.TypeAlias, updated_node: cst.TypeAlias) -> cst.BaseSmallStatement:
        return cst.Assign([cst.AssignTarget(updated_node.name)], updated_node.value, semicolon=updated_node.semicolon)

    def leave_FormattedString(
        self, original_node: cst.FormattedString, updated_node: cst.FormattedString
    ) -> cst.BaseExpression:
        lines = cst.Module([]).code_for_node(original_node).count("\n")
        return cst.SimpleString('"""' + "\n" * lines + '"""' if lines else '""', updated_node.lpar, updated_node.rpar)
