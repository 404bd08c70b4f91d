"""Probes as a file declares them: how each is called."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from statelint.source.walking import below


def probe_names(body: Sequence[ast.stmt]) -> dict[ast.Call, str]:
    """Calls that are assigned to a name, outside functions."""
    found: dict[ast.Call, str] = {}
    stack: list[ast.AST] = list(body)
    while stack:
        match stack.pop():
            case ast.Assign(targets=[ast.Name(id=name), *_], value=ast.Call() as call):
                found[call] = name
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call):
                found[call] = name
            case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While() | ast.ClassDef() as node:
                stack += below(node)
    return found


def probe_name(node: ast.Call, variable: str | None) -> str:
    """As the declaration names it: by `name=`, else by its variable, else by its step."""
    keywords = {word.arg: word.value for word in node.keywords}
    given = keywords.get("name")
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value
    step = keywords.get("step") or (node.args[0] if node.args else None)
    return variable or (ast.unparse(step) if step is not None else "probe")
