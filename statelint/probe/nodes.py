"""A pytree as a person sees it: paths as one would write them, node types, static fields."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Collection, Iterator
from typing import Any

import jax

BUILTIN = (dict, list, tuple, type(None))
"""Containers whose treedef holds their keys, and nothing else that a user set."""

KEYS = (jax.tree_util.GetAttrKey, jax.tree_util.DictKey, jax.tree_util.SequenceKey)
"""Keys that say how a child is reached."""


@dataclasses.dataclass
class Node:
    """One node or leaf of a pytree.

    Attributes:
        path: below the state, as the user would write it.
        name: the last name on the path: a field, a key, or empty for a position.
        kind: the node's type; of a leaf, the leaf's type.
        parent, position: the node above, and the place among its children.
        children: in the treedef's own order; None for a leaf.
        statics: what of the node is part of the treedef: its static fields by name, or its aux data.
    """

    path: str
    name: str
    value: Any
    kind: type
    parent: Node | None = dataclasses.field(default=None, repr=False)
    position: int = 0
    children: list[Node] | None = None
    statics: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def owner(self) -> type | None:
        """The type of the node above."""
        return self.parent.kind if self.parent else None

    def lineage(self) -> list[Node]:
        """The nodes from below the root down to this one."""
        found: list[Node] = []
        node = self
        while node.parent is not None:
            found.insert(0, node)
            node = node.parent
        return found

    def leaves(self) -> Iterator[Node]:
        """The leaves below, in the treedef's own order."""
        return (node for node in self.walk() if node.children is None)

    def walk(self) -> Iterator[Node]:
        """This node and all below, parents first."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children or ()))


def describe(tree: Any) -> Node:
    """The tree as nodes.

    Raises:
        whatever a class raises when it is flattened.
    """
    root = Node("", "", tree, type(tree))
    stack, taken = [root], {""}
    while stack:
        node = stack.pop()
        entries, treedef = one_level(node.value)
        if entries is None:
            continue
        node.children = []
        attributes = _attributes(node.value, entries, treedef)
        for place, (key, child) in enumerate(entries):
            suffix, name = _spell(key, attributes.get(place))
            path = node.path + suffix if suffix[0] == "[" or node.path else suffix[1:]
            while path in taken:
                # Only a class that gives two children one key comes here; what is told by path must not be two things.
                path += f"[<child {place}>]"
            taken.add(path)
            node.children.append(Node(path, name, child, type(child), node, place))
        node.statics = _statics(node, treedef)
        stack.extend(reversed(node.children))
    return root


def one_level(tree: Any) -> tuple[list[tuple[Any, Any]] | None, Any]:
    """A node's children with their keys, and its treedef with a leaf for each child. A leaf has no children: None."""
    entries, treedef = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda node: node is not tree)
    if len(entries) == 1 and not entries[0][0]:
        return None, treedef
    return [(path[0], child) for path, child in entries], treedef


def is_leaf(tree: Any) -> bool:
    """Whether JAX takes it as a leaf, whatever it is."""
    return one_level(tree)[0] is None


def makes_aux(node: Node) -> bool:
    """Whether each flatten makes a node's aux data anew, so that nobody holds what a treedef has of it."""
    again = one_level(node.value)[1].node_data()
    return again is not None and again[1] is not node.statics.get("aux")


def _attributes(parent: Any, entries: list[tuple[Any, Any]], treedef: Any) -> dict[int, str]:
    """Of the children of a class registered without keys, by place: the attribute that holds it, as one would write."""
    if all(isinstance(key, KEYS) for key, _ in entries):
        return {}
    marks = [object() for _ in entries]
    try:
        # Two children may be one object, and so may a child and a static field; two marks are not.
        found = _held(jax.tree_util.tree_unflatten(treedef, marks), marks, taken=())
    except Exception:
        found = {}
    return _held(parent, [child for _, child in entries], taken=found.values()) | found


def _held(parent: Any, children: list[Any], *, taken: Collection[str]) -> dict[int, str]:
    """By place, the attributes that hold these very children, each of them once."""
    names = {name: value for name, value in getattr(parent, "__dict__", {}).items() if name not in taken}
    found: dict[int, str] = {}
    for place, child in enumerate(children):
        name = next((name for name, value in names.items() if value is child), None)
        if name is not None:
            del names[name]
            found[place] = str(name)
    return found


def _spell(key: Any, attribute: str | None) -> tuple[str, str]:
    """A key as it is written behind its parent, and the bare name."""
    if isinstance(key, jax.tree_util.GetAttrKey):
        return f".{key.name}", str(key.name)
    if isinstance(key, jax.tree_util.DictKey):
        return f"[{key.key!r}]", str(key.key)
    if isinstance(key, jax.tree_util.SequenceKey):
        return f"[{key.idx}]", ""
    if attribute is not None:
        return f".{attribute}", attribute
    index = getattr(key, "key", key)
    return f"[<child {index}>]", ""


class _Order(tuple[Any, ...]):
    """The keys of an OrderedDict: another treedef where those that two have in common stand in another order."""

    __hash__ = tuple.__hash__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Order):
            return NotImplemented
        common = set(self) & set(other)
        return [key for key in self if key in common] == [key for key in other if key in common]


def _statics(node: Node, treedef: Any) -> dict[str, Any]:
    if isinstance(node.value, collections.defaultdict):
        return {"default_factory": node.value.default_factory}
    if isinstance(node.value, collections.OrderedDict):
        return {"keys()": _Order(node.value)}
    if issubclass(node.kind, BUILTIN):
        return {}
    children = {child.name for child in node.children or ()}
    if dataclasses.is_dataclass(node.kind):
        names = [field.name for field in dataclasses.fields(node.kind) if field.name not in children]
        return {name: getattr(node.value, name) for name in names if hasattr(node.value, name)}
    aux = treedef.node_data()[1]
    is_empty = aux is None or (type(aux) is tuple and not aux)
    return {} if is_empty else {"aux": aux}
