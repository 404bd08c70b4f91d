"""`flax.nnx.jit`: modules and optimizers are changed in place; the values of their Variables are traced, and all else
is part of the graphdef, which is static.

Recognised without importing flax, so that a project without it pays nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from statelint.probe.adapters.plain import Flat
from statelint.probe.leaves import is_jit_leaf
from statelint.probe.nodes import Node

Key = str | int
Path = tuple[Key, ...]


class Nnx:
    """A step under `nnx.jit`, or a state with nnx modules in it."""

    name = "flax.nnx.jit"
    in_place = True

    @staticmethod
    def is_nnx_jit(step: Callable[..., Any]) -> bool:
        """Whether this is what `nnx.jit` gives back."""
        # Before flax 0.11 it was a function that keeps the jit as an attribute.
        is_wrapper = type(step).__module__.startswith("flax.nnx.") and "Jit" in type(step).__name__
        return is_wrapper or hasattr(getattr(step, "inner", None), "trace")

    @staticmethod
    def holds_module(state: Any) -> bool:
        """Whether the state is an nnx object, or a container of some."""
        nnx = sys.modules.get("flax.nnx")
        kinds = _objects(nnx)
        parts = jax.tree_util.tree_leaves(state, is_leaf=lambda node: isinstance(node, kinds)) if kinds else []
        return any(isinstance(part, kinds) for part in parts)

    def recognises(self, step: Callable[..., Any], state: Any) -> bool:
        """By the wrapper's own type, or by an nnx object in the state."""
        return self.is_nnx_jit(step) or self.holds_module(state)

    def is_traced(self, leaf: Any) -> bool:
        """All that a Variable holds."""
        return is_jit_leaf(leaf)

    def flatten(self, tree: Any) -> Flat:
        """Split: the graphdef takes the treedef's place, and the leaves stand at the paths of their Variables."""
        nnx = sys.modules["flax.nnx"]
        graphdef, state = nnx.split(tree)
        entries, treedef = jax.tree_util.tree_flatten_with_path(state)
        at = {_path_of(path): leaf for path, leaf in entries}
        return Flat(_nodes(dict(nnx.iter_graph(tree)), at), list(at.values()), _Graph((graphdef, treedef)))

    def unflatten(self, treedef: Any, leaves: Sequence[Any]) -> Any:
        """Merge: new objects, of the level of the trace at hand, so that the step may change them."""
        graphdef, inner = treedef
        return sys.modules["flax.nnx"].merge(graphdef, jax.tree_util.tree_unflatten(inner, leaves))

    def jit(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """Under a new `nnx.jit`."""
        jitted: Callable[..., Any] = sys.modules["flax.nnx"].jit(lambda *args: step(*args))
        return jitted


class _Graph(tuple[Any, Any]):
    """The graphdef, and the treedef of its state."""


def _objects(nnx: Any) -> tuple[type, ...]:
    found = (getattr(nnx, name, None) for name in ("Object", "Pytree", "Module", "Optimizer", "Variable"))
    return tuple(kind for kind in found if isinstance(kind, type))


def _path_of(path: Sequence[Any]) -> Path:
    """The keys of a leaf without the step from a Variable to its value."""
    keys = [key.key if hasattr(key, "key") else getattr(key, "idx", None) for key in path]
    return tuple(key for key in keys if key is not None)


def _nodes(objects: Mapping[Path, Any], leaves: Mapping[Path, Any]) -> Node:
    """The graph as a tree: each leaf below the objects on its path, each object with its Python attributes."""
    if () in leaves:  # a state that is one Variable
        return Node("", "", leaves[()], type(leaves[()]))
    root = Node("", "", objects.get(()), type(objects.get(())), children=[])
    made: dict[Path, Node] = {(): root}
    for path, leaf in leaves.items():
        for depth in range(1, len(path) + 1):
            here, above = path[:depth], made[path[: depth - 1]]
            if here not in made:
                value = leaf if depth == len(path) else objects.get(here, {})
                made[here] = _below(above, here[-1], value, is_leaf=depth == len(path))
    variables = tuple(kind for kind in _objects(sys.modules["flax.nnx"]) if kind.__name__ == "Variable")
    for path, value in objects.items():
        owner = made.get(path[:-1]) if path else None
        is_attribute = owner is not None and owner.children is not None and path not in made
        if owner is not None and is_attribute and _is_plain(value, variables) and not str(path[-1]).startswith("_"):
            owner.statics[str(path[-1])] = value
    return root


def _below(above: Node, key: Key, value: Any, *, is_leaf: bool) -> Node:
    # What a user writes: an item of a list or a mapping, else an attribute.
    is_item = isinstance(key, int) or (isinstance(above.value, Mapping) and not hasattr(type(above.value), key))
    suffix = f"[{key!r}]" if is_item else f".{key}"
    name = "" if isinstance(key, int) else key
    path = above.path + suffix if suffix[0] == "[" or above.path else suffix[1:]
    assert above.children is not None
    node = Node(path, name, value, type(value), above, len(above.children), None if is_leaf else [])
    above.children.append(node)
    return node


def _is_plain(value: Any, variables: tuple[type, ...]) -> bool:
    return not isinstance(value, (*variables, tuple, list, Mapping)) and not hasattr(value, "__dict__")
