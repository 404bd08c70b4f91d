"""A state between two calls, and how two of them compare: by call key, by structure, by likeness."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any

import jax

from statelint.probe import frames, leaves, placement, spelling
from statelint.probe.nodes import Node, describe


@dataclasses.dataclass
class State:
    """What the next call's key is made of.

    Attributes:
        root: the tree as nodes; its leaves may be spent tracers, of which only types and paths are read.
        values: for each leaf, its aval when the adapter traces it, else the leaf itself.
        treedef: with the static fields.
        placed: for each leaf, where it is committed to.
        by_aval: the leaves, by place, of which the call that is given them looks at the avals alone: where they are
            makes no difference but for the mesh. jit drops those it does not use, and moves those it has a place for.
    """

    root: Node
    values: list[Any]
    treedef: Any
    placed: list[placement.Placement]
    by_aval: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.values)

    @functools.cached_property
    def by_path(self) -> dict[str, tuple[Node, Any, int]]:
        """Each leaf's node, value and place in the treedef's order."""
        found = enumerate(zip(self.root.leaves(), self.values, strict=True))
        return {node.path: (node, value, place) for place, (node, value) in found}

    def key_equals(self, other: State) -> bool:
        """Whether a jit that has seen the other takes its executable for this one.

        A comparison that raises is no match; jit raises there too.
        """
        are_alike = self.treedef_equals(other) and all(map(same, self.values, other.values))
        return are_alike and all(
            placement.same(self.placed[place], other.placed[place], value, is_by_aval=place in other.by_aval)
            for place, value in enumerate(self.values)
        )

    def stays(self, place: int, where: placement.Placement) -> bool:
        """Whether a leaf makes the same key when it comes back there."""
        is_by_aval = place in self.by_aval
        return placement.same(self.placed[place], where, self.values[place], is_by_aval=is_by_aval)

    def treedef_equals(self, other: State) -> bool:
        """Whether the treedefs are equal; not when the comparison raises."""
        return bool(equal(self.treedef, other.treedef))

    def clash(self, other: State) -> str | None:
        """What comparing the two treedefs raises, if it does: jit compares them, and raises the same."""
        try:
            bool(self.treedef == other.treedef)
        except Exception as error:
            return frames.one_line(error)
        return None

    def restored(self) -> State:
        """The state as a checkpoint brings it back: traced leaves strong and uncommitted, all else as it is."""
        values = [leaves.strong(value) if is_aval(value) else value for value in self.values]
        return State(self.root, values, self.treedef, [placement.of_restored()] * len(values))

    def comes_to_rest(self, after: State) -> bool:
        """Whether only dtypes and weak types changed since: those settle by themselves, the rest may never."""
        return self.treedef_equals(after) and all(
            one.shape == other.shape if is_aval(one) and is_aval(other) else same(one, other)
            for one, other in zip(self.values, after.values, strict=True)
        )

    def changes_to(self, other: State) -> Iterator[tuple[str, str, str, bool]]:
        """By which leaves another key differs: path, before and after in words, and whether it is only their place."""
        for path, (_, value, place) in self.by_path.items():
            if (found := other.by_path.get(path)) is None:
                continue
            _, after, there = found
            if not same(value, after):
                yield path, in_words(value), in_words(after), False
            elif not self.stays(place, other.placed[there]):
                words = placement.in_words
                yield path, words(self.placed[place]), words(other.placed[there]), True


def in_words(value: Any) -> str:
    """A leaf as the key has it: `weak float32[]`, or the short repr of what is held static."""
    if not is_aval(value):
        return spelling.short(value)
    text = f"{value.dtype}[{','.join(map(str, value.shape))}]"
    return f"weak {text}" if value.weak_type else text


def is_aval(value: Any) -> bool:
    """A traced leaf, rather than one that is held static."""
    return isinstance(value, jax.ShapeDtypeStruct)


def same(one: Any, other: Any) -> bool:
    """Whether two leaves make the same key."""
    if is_aval(one) and is_aval(other):
        return (one.shape, one.dtype, one.weak_type) == (other.shape, other.dtype, other.weak_type)
    return is_aval(one) == is_aval(other) and bool(equal(one, other))


def equal(one: Any, other: Any) -> bool | None:
    """Equality as a treedef sees it: an object equals itself, then `==`. None when `==` gives no truth value."""
    try:
        return bool((one,) == (other,))
    except Exception:
        return None


Difference = tuple[str, str | None, str | None, Node]
"""Path, before and after in words, and the node to look for in the source."""


def differences(before: Node, after: Node) -> Iterator[Difference]:
    """Where two trees differ in structure."""
    one_is_leaf = (before.children is None) != (after.children is None)
    if one_is_leaf or (before.children is not None and before.kind is not after.kind):
        yield before.path, _in_words(before, after), _in_words(after, before), after
        return
    ours, theirs = ({child.path: child for child in node.children or ()} for node in (before, after))
    for path, child in ours.items():
        if path in theirs:
            yield from differences(child, theirs[path])
        else:
            yield path, _in_words(child), None, child
    for path, child in theirs.items():
        if path not in ours:
            yield path, None, _in_words(child), child


def _in_words(node: Node, other: Node | None = None) -> str:
    if node.children is None:
        return "a leaf"
    if node.kind is type(None):
        return "None"
    if not node.children and node.kind in (tuple, list, dict):
        return f"an empty {node.kind.__name__}"
    if other is not None and node.kind is not other.kind and node.kind.__name__ == other.kind.__name__:
        return f"{node.kind.__module__}.{node.kind.__qualname__}"
    return node.kind.__name__


def _dtype(value: Any) -> Any:
    return getattr(value, "dtype", type(value))


def likeness(tree: Any, state: State) -> float:
    """How much a tree is like a state: 4 for an equal treedef, 1 for the same root, up to 2 for equal leaves;
    equal dtypes decide between those that are alike in all this.
    """
    same_treedef = equal(jax.tree_util.tree_structure(tree), state.treedef)
    # A treedef that cannot be compared (an array in a static field) is still the state's.
    score = 0.0 if same_treedef is False else 4.0
    before = {path: value for path, (_, value, _) in state.by_path.items()}
    after = {node.path: node.value for node in describe(tree).leaves()}
    common = before.keys() & after.keys()
    if common:
        shaped = sum(getattr(before[path], "shape", ()) == getattr(after[path], "shape", ()) for path in common)
        typed = sum(_dtype(before[path]) == _dtype(after[path]) for path in common)
        score += (len(common) + shaped + typed / (len(common) + 1)) / len(before.keys() | after.keys())
    same_root = type(tree) is state.root.kind and type(tree) not in (tuple, list)
    return score + same_root
