"""What a function does with the leaves of a state that it is mapped over."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from statelint.model.source import Expression, Kind
from statelint.source.scope import Scope
from statelint.source.terms import Term

Change = Callable[[Expression], Expression]

_CONVERTS = frozenset({"jax.numpy.asarray", "jax.device_put"})
_COPIES = frozenset({"jax.numpy.array", "jax.numpy.copy"})


def mapping(function: Term | None, scope: Scope) -> Change:
    """From a leaf as it is written to the leaf that comes of it."""
    if function is None:
        return _same
    name, plain = scope.absolute(function.name), True
    if function.form == "lambda":
        body = function.parts[0].value
        if body.form == "name" and body.name == function.name:
            return _same
        name, plain = (scope.absolute(body.name), len(body.parts) == 1) if body.form == "call" else ("", False)
    if plain and name in _CONVERTS:
        return _converted
    return _copied if plain and name in _COPIES else _unknown


def _same(value: Expression) -> Expression:
    return value


def _converted(value: Expression) -> Expression:
    """A number becomes a weak array; an array stays the very same."""
    is_number = value.kind in (Kind.INT, Kind.FLOAT)
    return replace(value, kind=Kind.ARRAY, number=None, weak=True) if is_number else value


def _copied(value: Expression) -> Expression:
    return replace(_converted(value), buffer=None)


def _unknown(value: Expression) -> Expression:
    """An array of its own, of no known type."""
    is_number = value.kind.is_number
    return replace(value, kind=Kind.UNKNOWN if is_number else value.kind, number=None, weak=False, buffer=None)
