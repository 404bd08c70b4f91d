"""Classes with a flatten of their own: which attributes are children, which aux data, what the constructor takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from statelint.source.declared import ClassOutline
from statelint.source.terms import dotted
from statelint.source.walking import walk


class NodeOutline(msgspec.Struct, frozen=True):
    """A class as its flatten takes it apart.

    Attributes:
        children: attributes that are flattened as leaves or subtrees.
        aux: attributes that are part of the treedef.
        parameters: of the constructor, in the order of their positions; empty for one that is not kept as it is.
    """

    children: frozenset[str]
    aux: frozenset[str]
    parameters: tuple[str, ...]


def node_outline(cls: ClassOutline, flatten: ast.FunctionDef | ast.Lambda) -> NodeOutline | None:
    """None where the flatten does not tell."""
    taken = _returned(flatten)
    owner = next((argument.arg for argument in flatten.args.args), "")
    if taken is None or not owner:
        return None
    children, aux = (frozenset(_attributes(each, owner)) for each in taken)
    return NodeOutline(children, aux - children, tuple(_parameters(cls)))


def _returned(flatten: ast.FunctionDef | ast.Lambda) -> tuple[ast.expr, ast.expr] | None:
    """Children and aux data: the one pair that it returns, by itself or by names that are assigned once."""
    if isinstance(flatten, ast.Lambda):
        returned, local = [flatten.body], {}
    else:
        returned = [node.value for node in walk([flatten]) if isinstance(node, ast.Return) and node.value]
        local = {
            target.id: node.value
            for node in flatten.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
    match returned:
        case [ast.Tuple(elts=[children, aux])]:
            first, second = (local.get(dotted(each), each) for each in (children, aux))
            return first, second
    return None


def _attributes(node: ast.expr, owner: str) -> Iterator[str]:
    """`self.a` as an item, alone or in a pair with its key."""
    match node:
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == owner:
            yield attribute
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for each in items:
                yield from _attributes(each, owner)
        case ast.Dict(values=items):
            for each in items:
                yield from _attributes(each, owner)


def _parameters(cls: ClassOutline) -> Iterator[str]:
    init = cls.bodies.get("__init__")
    if init is None:
        yield from (field.name for field in cls.fields)
        return
    assigned = [node for node in init.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)]
    kept = {
        target.attr
        for node in assigned
        for target in node.targets
        if isinstance(target, ast.Attribute) and target.attr == dotted(node.value)
    }
    for argument in [*init.args.posonlyargs, *init.args.args][1:]:
        yield argument.arg if argument.arg in kept else ""
