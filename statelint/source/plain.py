"""Plain dataclasses that go into traced functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from statelint.model.turns import UnregisteredState
from statelint.source import flavours
from statelint.source.index import Index
from statelint.source.outline import Outline
from statelint.source.terms import annotation_head, dotted


def read(outline: Outline, index: Index) -> Iterator[UnregisteredState]:
    """The parameters of jitted functions that are annotated as plain dataclasses, and carries that are one."""
    for scope, node in outline.defined.items():
        jit = next((name for name in (_jit(each, outline) for each in node.decorator_list) if name), "")
        if jit:
            for argument in (*node.args.posonlyargs, *node.args.args):
                if argument.annotation is not None:
                    place = outline.text.at(argument.annotation)
                    declared = index.plain(outline, annotation_head(argument.annotation), scope)
                    if declared is not None:
                        yield UnregisteredState(declared.short, place, f"`{node.name}`", declared.at)


def _jit(decorator: ast.expr, outline: Outline) -> str:
    """The plain jit that a decorator is; empty for any other, and for one that has static arguments."""
    words: list[ast.keyword] = []
    while isinstance(decorator, ast.Call):
        words += decorator.keywords
        is_partial = outline.absolute(dotted(decorator.func)) in flavours.PARTIALS
        decorator = decorator.args[0] if is_partial and decorator.args else decorator.func
    name = outline.absolute(dotted(decorator))
    is_static = any(word.arg is None or word.arg.startswith("static") for word in words)
    return name if flavours.JITS.get(name) == "jax" and not is_static else ""
