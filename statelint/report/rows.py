"""A state as rows of a table, and many alike as one: `layers[0..125].w`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import msgspec

from statelint.model.paths import label
from statelint.model.trace import LeafTrace, StaticTrace, StepTrace

KINDS = {
    "array": "array",
    "numpy": "NumPy",
    "python": "Python scalar",
    "key": "key",
    "static": "static",
    "invalid": "refused",
}
"""What the table calls the ways in which a leaf is held."""

MANY = 40
"""Rows from which on those that are alike are shown as one."""

NUMBER = re.compile(r"\d+")


class Row(msgspec.Struct, frozen=True):
    """One leaf or static field, or several that differ by nothing but the numbers in their paths.

    Attributes:
        aval: of a leaf, or the value of what is static.
        bytes: of all of them.
        shares: the paths of the leaves that hold the same buffer.
        changes: what becomes of it in the step, in words; empty where it comes back as it was.
        count: how many it stands for.
    """

    path: str
    kind: str
    aval: str
    weak: bool = False
    bytes: int = 0
    donated: bool = False
    shares: tuple[str, ...] = ()
    changes: str = ""
    count: int = 1


def rows(trace: StepTrace) -> list[Row]:
    """A row for each leaf in the treedef's own order, then one for each static field."""
    sharing = sharers(trace)
    leaves = [_of_leaf(leaf, sharing.get(leaf.path, ())) for leaf in trace.leaves]
    return [*leaves, *map(_of_static, trace.statics)]


def sharers(trace: StepTrace) -> dict[str, list[str]]:
    """The other leaves that hold the buffer of a leaf, for those that share one, all by their paths."""
    groups: dict[int, list[str]] = {}
    for leaf in trace.leaves:
        if leaf.shares is not None:
            groups.setdefault(leaf.shares, []).append(leaf.path)
    return {path: [other for other in group if other != path] for group in groups.values() for path in group}


def _of_leaf(leaf: LeafTrace, shares: Iterable[str]) -> Row:
    return Row(
        path=label(leaf.path),
        kind=KINDS[leaf.held],
        aval=str(leaf.aval) if leaf.aval else leaf.value or leaf.python_type,
        weak=leaf.aval is not None and leaf.aval.weak,
        bytes=leaf.nbytes,
        donated=leaf.donated,
        shares=(*map(label, shares), *([leaf.shares_argument] if leaf.shares_argument else [])),
        changes="; ".join(_changes(leaf)),
    )


def _changes(leaf: LeafTrace) -> Iterable[str]:
    for change in leaf.changes:
        yield f"call {change.call}: {change.after.described}"
    for move in leaf.moves:
        yield f"call {move.call}: {move.after}"
    if leaf.value_after is not None:
        yield f"call 1: {leaf.value_after}"


def _of_static(static: StaticTrace) -> Row:
    changes = f"call 1: {static.after}" if static.changed else ""
    return Row(path=label(static.path), kind="static", aval=static.value, changes=changes)


# --- many as one ----------------------------------------------------------------------------------------


def collapsed(table: Sequence[Row]) -> list[Row]:
    """The rows, where those that differ by nothing but the numbers in their paths are one, at the place of the first.

    They become one only when their numbers are all that there can be: `[0..125]`, or `[0..11]` by `{w1, w2}`.
    """
    alike: dict[tuple[object, ...], list[Row]] = {}
    for row in table:
        likeness = (_template(row.path), row.kind, row.aval, row.weak, row.bytes, row.donated, row.count)
        also = (tuple(map(_template, row.shares)), _template(row.changes) if row.kind == "static" else row.changes)
        alike.setdefault((*likeness, *also), []).append(row)
    return [row for group in alike.values() for row in _merged(group)]


def _template(text: str) -> str:
    return NUMBER.sub("#", text)


def _merged(group: Sequence[Row]) -> Sequence[Row]:
    path = _common([row.path for row in group])
    shares = [_common([row.shares[number] for row in group]) for number in range(len(group[0].shares))]
    if len(group) == 1 or path is None or None in shares:
        return group
    return [
        msgspec.structs.replace(
            group[0],
            path=path,
            bytes=sum(row.bytes for row in group),
            shares=tuple(filter(None, shares)),
            count=sum(row.count for row in group),
        )
    ]


def _common(texts: Sequence[str]) -> str | None:
    """Texts of one template as one text; None when their numbers are not all combinations of those at each place."""
    numbers = [tuple(map(int, NUMBER.findall(text))) for text in texts]
    places = [sorted(set(column)) for column in zip(*numbers, strict=True)]
    if len(set(numbers)) != math.prod(map(len, places)):
        return None
    spelled = iter(map(_range, places))
    return NUMBER.sub(lambda _: next(spelled), texts[0])


def _range(numbers: Sequence[int]) -> str:
    """`7`, `0..125`, `0,2,3`."""
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]}..{numbers[-1]}"
    return ",".join(map(str, numbers))
