"""Edits that depend on what stands around: a key split before it is used, a jit made once at the top."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Set

from statelint.diagnostics import Edit, Location, insert_before, replace
from statelint.source.text import Text
from statelint.source.tree import Tree, name_of
from statelint.source.walking import first_line


def split_key(
    step: ast.FunctionDef | ast.Lambda, call: ast.expr, kept: ast.expr | None, text: Text
) -> tuple[Edit, ...]:
    """A new key for a call that draws from a key, and for what gives that key back; none where that is not plain.

    Plain: both stand in the step's own body, in this order, and nothing else there reads the key.
    """
    if isinstance(step, ast.Lambda) or not isinstance(call, ast.Call) or kept is None:
        return ()
    key = next(iter(call.args), None) or next((word.value for word in call.keywords if word.arg == "key"), None)
    if key is None or isinstance(key, ast.Starred):
        return ()
    using, keeping = (_statement(step, node) for node in (key, kept))
    others = [node for node in ast.walk(step) if ast.dump(node) == ast.dump(key) and node not in (key, kept)]
    names = set(map(name_of, ast.walk(step)))
    if using is None or keeping is None or keeping.lineno < using.lineno or others or "subkey" in names:
        return ()
    if isinstance(key, ast.Name):
        new = key.id
    elif "key" in names:
        return ()
    else:
        new = "key"
    line = first_line(using)
    before = text.lines[line - 1]
    indent = before[: len(before) - len(before.lstrip())]
    if len(indent) != using.col_offset:
        return ()
    statement = f"{new}, subkey = {{jax.random}}.split({text.read(text.at(key))})\n{indent}"
    given = replace(text.at(kept), new) if not isinstance(kept, ast.Name) or kept.id != new else ()
    return (
        *insert_before(Location(text.path, line, len(indent) + 1), statement),
        *replace(text.at(key), "subkey"),
        *given,
    )


def _statement(step: ast.FunctionDef, node: ast.AST) -> ast.stmt | None:
    """The statement of the step's own body in which a node stands."""
    return next((each for each in step.body if any(inner is node for inner in ast.walk(each))), None)


def jitted_outside(tree: Tree, site: ast.AST, inside: str, text: Text) -> tuple[Edit, ...]:
    """A jit made once, before the function or class in which it is called; none where it needs what only that knows."""
    top = next((child for parent, child in tree.around(site) if parent is tree.module), None)
    if not isinstance(site, ast.Call) or not isinstance(top, ast.stmt) or site.end_lineno != site.lineno:
        return ()
    line = first_line(top)
    names = [node for node in ast.walk(site) if isinstance(node, ast.Name)]
    if not all(_is_known(tree, node, site, line) for node in names):
        return ()
    while line > 1 and text.lines[line - 2].startswith("#"):
        line -= 1
    name = _unused(f"jitted_{inside}" if inside else "jitted", tree.names)
    statement = f"{name} = {text.read(text.at(site))}\n\n\n"
    return (*insert_before(Location(text.path, line), statement), *replace(text.at(site), name))


def _is_known(tree: Tree, node: ast.Name, site: ast.Call, line: int) -> bool:
    """A name of the site itself, of the module above this line, or of Python."""
    found = tree.find(node.id, node)
    if found is None:
        return hasattr(builtins, node.id)
    scope, bindings = found
    if scope is tree.module:
        return all(getattr(binding.node, "lineno", line) < line for binding in bindings)
    return any(inner is scope for inner in ast.walk(site))


def _unused(name: str, taken: Set[str]) -> str:
    candidates = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in candidates if each not in taken)
