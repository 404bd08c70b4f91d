"""What becomes of a jaxpr's inputs: which are read, which come out as they went in, which serve as PRNG keys.

Followed into the jaxprs of calls, loops and branches, so that a leaf that only travels through a `scan` counts as
what it is: carried, and never read.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from statelint.probe.jaxprs import is_literal, opened


class Key(NamedTuple):
    """A PRNG key that is an input, or that is made of one by folding, splitting and the like.

    Attributes:
        place: that of the input.
        numbers: the inputs that the numbers folded into it depend on; None where none was folded.
    """

    place: int
    numbers: frozenset[int] | None = None

    def folded(self, numbers: frozenset[int] | None) -> Key:
        """The key with more numbers folded into it."""
        if self.numbers is None or numbers is None:
            return Key(self.place, numbers if self.numbers is None else self.numbers)
        return Key(self.place, self.numbers | numbers)


class Flow(NamedTuple):
    """By places among the inputs.

    Attributes:
        sources: for each output, the input that it is; None for one that is computed.
        reads: the inputs that some operation reads.
        keys: the raw arrays that are made a PRNG key of.
        draws: the keys that something is drawn from, or that are otherwise read.
        makes: for each output, the key that it is.
    """

    sources: list[int | None]
    reads: set[int]
    keys: set[int]
    draws: set[Key]
    makes: list[Key | None]


@functools.cache
def flow(jaxpr: Any) -> Flow:
    """The flow of an open jaxpr. Cached until a probe is done: a jitted helper is one wherever it is called."""
    stands_for = {variable: place for place, variable in enumerate(jaxpr.invars)}
    key_of = {variable: Key(place) for variable, place in stands_for.items() if _may_be_key(variable)}
    origins = _Origins(jaxpr)
    found = Flow([], set(), set(), set(), [])
    for equation in jaxpr.eqns:
        if (inside := _of_equation(equation)) is None:
            named = [variable for variable in equation.invars if not is_literal(variable)]
            found.reads.update(stands_for[variable] for variable in named if variable in stands_for)
            if equation.primitive.name in _KEY_TO_KEY:
                _note_key(equation, stands_for, key_of, found, origins)
            elif equation.primitive.name in _MIXING and _may_be_key(equation.outvars[0]):
                _note_mixed(equation, key_of, found, origins)
            else:
                # Nearly all of them; whatever is known of an input ends here.
                found.draws.update(key_of[variable] for variable in named if variable in key_of)
            continue
        places = [None if is_literal(variable) else stands_for.get(variable) for variable in equation.invars]
        for of_all, of_this in ((found.reads, inside.reads), (found.keys, inside.keys)):
            of_all |= {place for number in of_this if (place := places[number]) is not None}
        found.draws.update(key for drawn in inside.draws if (key := _outside(drawn, equation, key_of, origins)))
        for variable, source, made in zip(equation.outvars, inside.sources, inside.makes, strict=True):
            if source is not None and (place := places[source]) is not None:
                stands_for[variable] = place
            if made is not None and (key := _outside(made, equation, key_of, origins)):
                key_of[variable] = key
    outputs = [None if is_literal(variable) else variable for variable in jaxpr.outvars]
    found.sources.extend(stands_for.get(variable) for variable in outputs)
    found.makes.extend(key_of.get(variable) for variable in outputs)
    return found


def _may_be_key(variable: Any) -> bool:
    """By its dtype: a typed key, whose dtype is none of NumPy's, or a raw one."""
    dtype = getattr(variable.aval, "dtype", None)
    return dtype is not None and (not isinstance(dtype, numpy.dtype) or dtype.name == "uint32")


_KEY_TO_KEY = frozenset({"random_wrap", "random_unwrap", "random_split", "random_fold_in"})
_KEY_TO_KEY |= {"broadcast_in_dim", "squeeze", "reshape", "slice", "dynamic_slice", "gather"}
_KEY_TO_KEY |= {"split", "unstack"}
"""Operations that make keys of a key, their first operand. What else they are given tells which."""


def _note_key(
    equation: Any, stands_for: dict[Any, int], key_of: dict[Any, Key], found: Flow, origins: _Origins
) -> None:
    first, *others = equation.invars
    if is_literal(first) or (key := key_of.get(first)) is None:
        found.draws.update(key_of[each] for each in others if not is_literal(each) and each in key_of)
        return
    if equation.primitive.name == "random_wrap" and first in stands_for:
        found.keys.add(stands_for[first])
    made = key.folded(origins.of(others) if others else None)
    key_of.update(dict.fromkeys(equation.outvars, made))


_MIXING = frozenset({"add", "sub", "mul", "xor", "or", "and", "rem", "select_n", "concatenate", "stack"})
_MIXING |= {"scatter", "dynamic_update_slice", "convert_element_type", "shift_left", "shift_right_logical"}
"""Operations that make a key, or what one is made of, of a key and all else that they are given."""


def _note_mixed(equation: Any, key_of: dict[Any, Key], found: Flow, origins: _Origins) -> None:
    numbers = origins.of(equation.invars)
    mixed = {Key(key_of[each].place, numbers) for each in equation.invars if not is_literal(each) and each in key_of}
    if mixed:
        # A variable is one key; what else went into it has done its part.
        first, *others = sorted(mixed)
        key_of[equation.outvars[0]] = first
        found.draws.update(others)


def _outside(key: Key, equation: Any, key_of: dict[Any, Key], origins: _Origins) -> Key | None:
    """What a key inside the jaxpr that an equation calls is outside of it."""
    variable = equation.invars[key.place]
    outer = None if is_literal(variable) else key_of.get(variable)
    if outer is None:
        return None
    numbers = key.numbers
    return outer.folded(numbers if numbers is None else origins.of([equation.invars[place] for place in numbers]))


class _Origins:
    """Which inputs of a jaxpr its variables depend on; of what a called jaxpr gives, on all that it is given."""

    def __init__(self, jaxpr: Any) -> None:
        self.jaxpr = jaxpr
        self.opened = opened(jaxpr)

    def of(self, variables: Sequence[Any]) -> frozenset[int]:
        """The places of the inputs that these depend on."""
        seen: set[Any] = set()
        waiting = [*variables]
        while waiting:
            variable = waiting.pop()
            if is_literal(variable) or variable in seen:
                continue
            seen.add(variable)
            if (made := self.opened.maker(variable)) is not None:
                waiting += made.equation.invars
        return frozenset(place for place, variable in enumerate(self.jaxpr.invars) if variable in seen)

    def in_any_turn(self, places: frozenset[int], consts: int, carried: int) -> frozenset[int]:
        """The inputs that these, of a loop's body, depend on in any turn: a carry on what the last one made it of."""
        found: set[int] = set()
        waiting = [*places]
        while waiting:
            place = waiting.pop()
            if place not in found:
                found.add(place)
                if consts <= place < consts + carried:
                    waiting += self.of([self.jaxpr.outvars[place - consts]])
        return frozenset(found)


def _of_body(jaxpr: Any, consts: int, carried: int) -> Flow:
    """The flow of a loop's body, over all its turns."""
    inside, origins = flow(jaxpr), _Origins(jaxpr)
    draws = {
        key if key.numbers is None else Key(key.place, origins.in_any_turn(key.numbers, consts, carried))
        for key in inside.draws
    }
    sources = [*_carried(inside.sources[:carried], consts), *[None] * (len(inside.sources) - carried)]
    reads = inside.reads | _moved(inside.sources, sources)
    return inside._replace(sources=sources, reads=reads, draws=draws, makes=[None] * len(sources))


def _of_equation(equation: Any) -> Flow | None:
    """The flow of the jaxprs that an equation calls; None where it calls none, or none that can be followed."""
    params = equation.params
    match equation.primitive.name:
        case "cond":
            return _of_branches([flow(branch.jaxpr) for branch in params["branches"]])
        case "while":
            return _of_while(equation)
        case "scan":
            return _of_scan(equation)
    inner = next((params[name] for name in ("jaxpr", "call_jaxpr", "fun_jaxpr") if name in params), None)
    inner = getattr(inner, "jaxpr", inner)
    return flow(inner) if inner is not None and _fits(inner, equation) else None


def _fits(jaxpr: Any, equation: Any) -> bool:
    return len(jaxpr.invars) == len(equation.invars) and len(jaxpr.outvars) == len(equation.outvars)


def _of_branches(branches: Sequence[Flow]) -> Flow:
    """A branch's inputs stand behind the index that chooses it."""
    sources = [
        alike[0] + 1 if alike[0] is not None and len(set(alike)) == 1 else None
        for alike in zip(*(branch.sources for branch in branches), strict=True)
    ]
    # An input that only some branches give out, or in different places, makes a difference.
    kept = {source - 1 for source in sources if source is not None}
    moved = {source for branch in branches for source in branch.sources if source is not None} - kept
    reads = moved.union(*(branch.reads for branch in branches))
    keys = {place + 1 for branch in branches for place in branch.keys}
    draws = {_moved_on(key, 1) for branch in branches for key in branch.draws}
    return Flow(sources, {0, *(place + 1 for place in reads)}, keys, draws, [None] * len(sources))


def _moved_on(key: Key, by: int) -> Key:
    """The same key where other inputs stand before it."""
    return Key(key.place + by, None if key.numbers is None else frozenset(number + by for number in key.numbers))


def _of_scan(equation: Any) -> Flow:
    """Inputs: constants, carries, and what is scanned, which has an axis more outside than inside."""
    body = equation.params["jaxpr"].jaxpr
    carry = _unscanned(equation.outvars, body.outvars)
    consts = _unscanned(equation.invars, body.invars) - carry
    return _of_body(body, consts, carry)


def _unscanned(outer: Sequence[Any], inner: Sequence[Any]) -> int:
    return sum(one.aval.shape == other.aval.shape for one, other in zip(outer, inner, strict=True))


def _of_while(equation: Any) -> Flow:
    """Inputs: the condition's constants, the body's, the carry."""
    first, second = equation.params["cond_nconsts"], equation.params["body_nconsts"]
    condition = flow(equation.params["cond_jaxpr"].jaxpr)
    carry = len(equation.outvars)
    body = _of_body(equation.params["body_jaxpr"].jaxpr, second, carry)
    outside = [*range(first), *range(first + second, first + second + carry)]
    reads, keys = (
        {outside[place] for place in asked} | {place + first for place in done}
        for asked, done in ((condition.reads, body.reads), (condition.keys, body.keys))
    )
    # A condition that draws decides when to stop: the numbers are those of the body.
    draws = {_moved_on(key, first) for key in body.draws} | {Key(outside[key.place]) for key in condition.draws}
    sources = [source + first if source is not None else None for source in body.sources]
    return Flow(sources, reads, keys, draws, [None] * carry)


def _carried(sources: Sequence[int | None], consts: int) -> list[int | None]:
    """Of a loop's carries, those that each turn leaves as they are."""
    return [source if source == number + consts else None for number, source in enumerate(sources)]


def _moved(sources: Sequence[int | None], kept: Sequence[int | None]) -> set[int]:
    """The inputs that come out in another place than their own: some other value is made of them."""
    pairs = zip(sources, kept, strict=True)
    return {source for source, own in pairs if source is not None and source != own}
