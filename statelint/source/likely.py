"""Whether something may well be an array, where that is not sure."""

from __future__ import annotations

from collections.abc import Iterator

from statelint.model.names import Names, is_init, is_params
from statelint.model.source import Kind
from statelint.source.scope import Scope
from statelint.source.terms import Term

_LIBRARIES = (
    *("jax.numpy.", "jax.random.", "jax.tree", "jax.lax.", "jax.nn.", "jax.device_put", "numpy.", "jax.jit"),
    *("optax.", "flax.", "equinox.", "haiku.", "chex.", "distrax.", "brax.", "jraph."),
)
"""Modules whose functions give arrays, or trees of them."""

_COUNTING = frozenset({"sum", "len", "int", "float", "round", "min", "max", "abs", "str"})
"""Builtins that give a number, or a text, of whatever they are given."""

_SCALARS = frozenset({"int", "float", "bool", "str", "bytes", "None"})


def may_hold_arrays(key: str, term: Term, scope: Scope, names: Names) -> bool:
    """An array, or what its name, its key or its making says may be or hold one."""
    kind, _ = scope.kind(term)
    if kind.is_number or kind in (Kind.STRING, Kind.NONE, Kind.CALLABLE):
        return False
    if kind.is_array or scope.is_weak(term) or scope.holds_arrays(term):
        return True
    meant, _ = scope.follow(term)
    if meant.form == "call" and scope.absolute(meant.name) in _COUNTING:
        return False
    return names.is_state_key(key) or any(_is_likely(each, scope, names) for each in _within(term, scope))


def _within(term: Term, scope: Scope) -> Iterator[Term]:
    """All that an expression is made of; a name, and the expression that it stands for."""
    stack = [term]
    while stack:
        each = stack.pop()
        yield each
        if each is term and each.form == "name":
            meant, _ = scope.follow(each)
            stack.extend([meant] if meant is not each else [])
        stack.extend(part.value for part in each.parts)
        if each.inner is not None:
            stack.append(each.inner)


def _is_likely(term: Term, scope: Scope, names: Names) -> bool:
    if term.form == "call":
        return scope.absolute(term.name).startswith(_LIBRARIES) or is_init(term.last)
    if term.form != "name":
        return False
    if is_params(term.last) or names.is_state(term.last):
        return True
    found = scope.find(term.name)
    return found is not None and found[0].parameter and found[0].annotation not in _SCALARS
