"""Jitted methods whose `self` is fixed: the attributes that they read and others change."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from statelint.model.callsites import StaleAttribute
from statelint.source.sites import Def, Jit, Sites, method_of, own_nodes
from statelint.source.terms import dotted
from statelint.source.tree import parameters
from statelint.source.walking import walk

_BUILDERS = ("__init__", "__new__", "__post_init__", "__setstate__", "__init_subclass__", "setup", "build")
_EQUAL = frozenset({"__hash__", "__eq__"})

_Change = tuple[ast.Attribute, str]
"""Where an attribute is changed, and by which function."""


def stale(sites: Sites) -> Iterator[StaleAttribute]:
    """The first attribute of each jitted method that another method changes."""
    for jit in sites.jits:
        method, bound = _fixed(jit, sites)
        cls = sites.tree.cls(method) if method is not None else None
        if method is None or cls is None or _compares(cls, sites):
            continue
        changes = _changes(cls, method, sites)
        for node in _reads(cls, method):
            if node.attr in changes:
                at, changer = changes[node.attr]
                yield StaleAttribute(
                    method=f"{cls.name}.{method.name}",
                    at=sites.outline.text.at(jit.node),
                    attribute=node.attr,
                    read=sites.outline.text.at(node),
                    changed=sites.outline.text.at(at),
                    changer=changer,
                    bound=bound,
                )
                break


def _fixed(jit: Jit, sites: Sites) -> tuple[Def | None, bool]:
    """The method whose `self` jit holds fixed, and whether that is because it is a bound one."""
    if jit.framework != "jax":
        return None, False
    if isinstance(jit.wrapped, ast.Attribute):
        method = sites.method(jit.wrapped)
        if method is not None and not method.decorator_list:
            # A site that runs at each call sees the attributes as they are then.
            parent = sites.tree.parents.get(jit.node)
            kept = isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Attribute)
            return (method, True) if kept else (None, False)
        return None, False
    if not isinstance(jit.wrapped, Def) or not isinstance(sites.tree.scope(jit.wrapped), ast.ClassDef):
        return None, False
    names = parameters(jit.wrapped)
    selection = sites.static(jit)
    is_static = bool(names) and selection is not None and selection.holds(0, None, names)
    return (jit.wrapped, False) if is_static else (None, False)


def _compares(cls: ast.ClassDef, sites: Sites) -> bool:
    """Whether instances are told apart by what is in them: by their own methods, or those of a base of this file."""
    if any(isinstance(each, Def) and each.name in _EQUAL for each in cls.body) or cls.decorator_list:
        return True
    if any(word.arg in ("frozen", "strict") for word in cls.keywords):
        return True
    for base in cls.bases:
        found = sites.tree.find(base.id, cls) if isinstance(base, ast.Name) else None
        defined = found[1][-1].node if found is not None else None
        if isinstance(defined, ast.ClassDef) and defined is not cls and _compares(defined, sites):
            return True
    return False


def _reads(cls: ast.ClassDef, method: Def) -> Iterator[ast.Attribute]:
    """The attributes of `self` that a method reads, itself or through other methods."""
    seen = {method.name}
    stack = [method]
    while stack:
        current = stack.pop()
        for node in walk([current]):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and dotted(node.value) == "self":
                called = method_of(cls, node.attr)
                if called is None:
                    yield node
                elif called.name not in seen:
                    seen.add(called.name)
                    stack.append(called)


def _changes(cls: ast.ClassDef, method: Def, sites: Sites) -> dict[str, _Change]:
    """The attributes that are bound after the object is built, by its methods or through a name of it."""
    found: dict[str, _Change] = {}
    methods = [each for each in cls.body if isinstance(each, Def)]
    building = _builders(cls)
    for each in methods:
        if each is method or each.name in building:
            continue
        for node in own_nodes(each):
            if _is_change(node) and dotted(node.value) == "self":
                found.setdefault(node.attr, (node, f"`{each.name}`"))
    for node in sites.tree.nodes:
        if _is_change(node) and dotted(node.value) != "self" and sites.owner(node.value) is cls:
            found.setdefault(node.attr, (node, "the code"))
    return found


def _is_change(node: ast.AST) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)


def _builders(cls: ast.ClassDef) -> set[str]:
    """`__init__` and its like, and the methods that only these call."""
    calls: dict[str, set[str]] = {}
    for each in cls.body:
        if isinstance(each, Def):
            for node in walk([each]):
                if isinstance(node, ast.Attribute) and dotted(node.value) == "self":
                    calls.setdefault(node.attr, set()).add(each.name)
    found = set(_BUILDERS)
    while True:
        more = {name for name, callers in calls.items() if callers <= found and name not in found}
        if not more:
            return found
        found |= more
