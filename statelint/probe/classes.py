"""Whether the classes of a state keep JAX's contract: unflatten takes anything, and flatten gives the same back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from statelint.probe import blame, frames
from statelint.probe.nodes import BUILTIN, Node

Facts = dict[str, Any]


def faults(root: Node) -> Iterator[Facts]:
    """The model's `ClassFault`s, innermost first, one for each class.

    A class around a faulty one is not judged: what is wrong with it cannot be told apart.
    """
    judged: dict[type, bool] = {}
    tainted: set[int] = set()
    for node in reversed(list(root.walk())):
        if node.children is None:
            continue
        if any(id(child) in tainted for child in node.children):
            tainted.add(id(node))
        elif not issubclass(node.kind, BUILTIN):
            if node.kind not in judged:
                fault = _fault(node)
                judged[node.kind] = fault is not None
                if fault is not None:
                    owner = node.kind
                    yield {"path": node.path, "owner": owner.__name__, "at": blame.unflatten_of(owner), **fault}
            if judged[node.kind]:
                tainted.add(id(node))


def _fault(node: Node) -> Facts | None:
    flat, treedef = jax.tree_util.tree_flatten(node.value)
    given = [object() for _ in flat]
    try:
        tree = jax.tree_util.tree_unflatten(treedef, given)
        back = jax.tree_util.tree_leaves(tree)
    except Exception as error:
        return {"fault": "raises", "error": frames.one_line(error)}
    if len(back) == len(given) and all(one is other for one, other in zip(back, given, strict=True)):
        return None
    is_reordered = {id(leaf) for leaf in back} == {id(leaf) for leaf in given}
    return {"fault": "reorders" if is_reordered else "converts", "error": None}
