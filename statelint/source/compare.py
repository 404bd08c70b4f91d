"""Two states, place by place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from statelint.diagnostics import Location
from statelint.model.source import Expression, Kind, StateField
from statelint.model.turns import Change
from statelint.source.symbols import CONTAINERS, Value
from statelint.source.text import Text


def compare(
    before: Value,
    after: Value,
    text: Text,
    step: Location,
    path: str = "",
    *,
    field: StateField | None = None,
    is_filtered: bool = False,
) -> Iterator[Change]:
    """What surely differs.

    Args:
        step: the place where nothing nearer is known.
        is_filtered: the jit holds Python numbers static.
    """
    if after.origin is not None:
        return
    place = text.at(after.spot) if after.spot is not None else step
    made = text.at(before.spot) if before.spot is not None else None
    if field is not None and field.static:
        if after.node == "array" and not after.python and not before.python:
            return
        if after.reckoned == path or (before.text and after.text and before.text != after.text):
            values = before.text or None, after.text or None
            yield Change(path.removeprefix("."), place, "static", *values, made, field=field)
    elif is_filtered and made is not None and before.python and after.python:
        if after.follows == path:
            yield Change(path.removeprefix("."), place, "static", before.dtype, None, made)
    elif before.node in CONTAINERS and after.node == before.node and before.known is after.known:
        yield from _items(before, after, text, place, path, is_filtered=is_filtered)
    elif _are_told(before, after):
        if before.node != after.node or before.node in CONTAINERS:
            if before.known is None or after.known is None or before.known.cls.name != after.known.cls.name:
                yield Change(path.removeprefix("."), place, "structure", before.says, after.says, made)
        elif "" not in (before.dtype, after.dtype) and before.dtype != after.dtype:
            keys = {before.dtype, after.dtype} & {"key", "raw key"}
            aspect: Literal["key kind", "dtype"] = "key kind" if keys else "dtype"
            yield Change(
                *(path.removeprefix("."), place, aspect, before.dtype, after.dtype, made),
                *(_whole_float(after, text) if before.dtype == "int" and after.reckoned == path else (None, "")),
                start=_number(before, text),
                weak=before.python or before.weak,
            )


def _are_told(before: Value, after: Value) -> bool:
    """Both are known well enough to differ: what is merely something differs from None alone."""
    nodes = {before.node, after.node}
    return not nodes & {"", "text", "function"} and ("something" not in nodes or "None" in nodes)


def _number(before: Value, text: Text) -> Expression | None:
    """The literal that a leaf starts as."""
    spot = before.spot if before.python else None
    return Expression(text.read(text.at(spot)), text.at(spot)) if isinstance(spot, ast.Constant) else None


def _whole_float(after: Value, text: Text) -> tuple[Expression | None, str]:
    """The float of `count + 1.0`, which might as well be an int, and the whole with that int."""
    match after.spot:
        case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
            numbers = [node for node in (left, right) if isinstance(node, ast.Constant)]
            value = numbers[0].value if len(numbers) == 1 else None
            if isinstance(value, float) and value.is_integer() and abs(value) < 2**31:
                number = Expression(str(value), text.at(numbers[0]), Kind.FLOAT, value)
                return number, _with(str(int(value)), text.read(number.at), text.read(text.at(after.spot)))
    return None, ""


def _with(new: str, old: str, whole: str) -> str:
    """The whole with the new text for the old, which it begins or ends with; in parentheses, the new text alone."""
    if whole.endswith(old):
        return whole.removesuffix(old) + new
    return new + whole.removeprefix(old) if whole.startswith(old) else new


def _items(
    before: Value, after: Value, text: Text, place: Location, path: str, *, is_filtered: bool
) -> Iterator[Change]:
    fields = before.known.by_name if before.known is not None else {}
    for step, item in after.items.items():
        below = f"{path}{step}"
        field = fields.get(step.removeprefix("."))
        if step in before.items:
            yield from compare(before.items[step], item, text, place, below, field=field, is_filtered=is_filtered)
        elif before.closed and before.node != "class":
            where = text.at(item.spot) if item.spot is not None else place
            yield Change(below.removeprefix("."), where, "structure", None, item.says if item.node else "a leaf", None)
    if after.closed and after.base is None and after.node != "class":
        for step, item in before.items.items():
            if step not in after.items:
                made = text.at(item.spot) if item.spot is not None else None
                yield Change(
                    f"{path}{step}".removeprefix("."),
                    place,
                    "structure",
                    item.says if item.node else "a leaf",
                    None,
                    made,
                )
