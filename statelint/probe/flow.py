"""What becomes of a jaxpr's inputs: which are read, which come out as they went in, which serve as PRNG keys.

Followed into the jaxprs of calls, loops and branches, so that a leaf that only travels through a `scan` counts as
what it is: carried, and never read.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple


class Flow(NamedTuple):
    """By places among the inputs.

    Attributes:
        sources: for each output, the input that it is; None for one that is computed.
        reads: the inputs that some operation reads.
        keys: the raw arrays that are made a PRNG key of.
        folds: the keys into which a number is folded.
        draws: the inputs that an operation reads to more than fold a number into them.
        wraps: for each output, the raw array that it is the key of.
    """

    sources: list[int | None]
    reads: set[int]
    keys: set[int]
    folds: set[int]
    draws: set[int]
    wraps: list[int | None]

    @property
    def marks(self) -> tuple[set[int], ...]:
        """What is said of inputs: reads, keys, folds, draws."""
        return (self.reads, self.keys, self.folds, self.draws)


@functools.cache
def flow(jaxpr: Any) -> Flow:
    """The flow of an open jaxpr. Cached until a probe is done: a jitted helper is one wherever it is called."""
    stands_for = {variable: place for place, variable in enumerate(jaxpr.invars)}
    key_of: dict[Any, int] = {}
    found = Flow([], set(), set(), set(), set(), [])
    for equation in jaxpr.eqns:
        if _is_plain(equation):
            # Nearly all of them; whatever is known of an input ends here.
            read = [
                place
                for variable in equation.invars
                if not hasattr(variable, "val")
                for place in (stands_for.get(variable), key_of.get(variable))
                if place is not None
            ]
            found.reads.update(read)
            found.draws.update(read)
            continue
        places = [None if hasattr(variable, "val") else stands_for.get(variable) for variable in equation.invars]
        raw = [None if hasattr(variable, "val") else key_of.get(variable) for variable in equation.invars]
        inside = _of_equation(equation)
        for of_all, of_this in zip(found.marks, inside.marks, strict=True):
            of_all |= {place for number in of_this for place in (places[number], raw[number]) if place is not None}
        for variable, source, wrapped in zip(equation.outvars, inside.sources, inside.wraps, strict=True):
            if source is not None and (place := places[source]) is not None:
                stands_for[variable] = place
            held = raw[source] if source is not None else places[wrapped] if wrapped is not None else None
            if held is not None:
                key_of[variable] = held
    outputs = [None if hasattr(variable, "val") else variable for variable in jaxpr.outvars]
    found.sources.extend(stands_for.get(variable) for variable in outputs)
    found.wraps.extend(key_of.get(variable) for variable in outputs)
    return found


def _is_plain(equation: Any) -> bool:
    """An operation that calls no jaxpr, and does nothing particular to PRNG keys."""
    params = equation.params
    is_key_operation = equation.primitive.name in ("random_wrap", "random_fold_in")
    return not is_key_operation and not any(name.endswith("jaxpr") or name == "branches" for name in params)


def _of_equation(equation: Any) -> Flow:
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
    if inner is not None and _fits(inner, equation):
        return flow(inner)
    return _of_primitive(equation.primitive.name, len(equation.invars), len(equation.outvars))


def _of_primitive(name: str, inputs: int, outputs: int) -> Flow:
    everything, nothing = set(range(inputs)), [None] * outputs
    if name == "random_wrap":
        return Flow(list(nothing), everything, everything, set(), set(), [0])
    if name == "random_fold_in":
        return Flow(list(nothing), everything, set(), {0}, everything - {0}, list(nothing))
    return Flow(list(nothing), everything, set(), set(), everything, list(nothing))


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
    marks = [{place + 1 for branch in branches for place in branch.marks[number]} for number in range(4)]
    marks[0] |= {0, *(place + 1 for place in moved)}
    reads, keys, folds, draws = marks
    return Flow(sources, reads, keys, folds, draws, [None] * len(sources))


def _of_scan(equation: Any) -> Flow:
    """Inputs: constants, carries, and what is scanned, which has an axis more outside than inside."""
    body = equation.params["jaxpr"].jaxpr
    carry = _unscanned(equation.outvars, body.outvars)
    consts = _unscanned(equation.invars, body.invars) - carry
    inside = flow(body)
    sources = [*_carried(inside.sources[:carry], consts), *[None] * (len(inside.sources) - carry)]
    return inside._replace(
        sources=sources, reads=inside.reads | _moved(inside.sources, sources), wraps=[None] * len(sources)
    )


def _unscanned(outer: Sequence[Any], inner: Sequence[Any]) -> int:
    return sum(one.aval.shape == other.aval.shape for one, other in zip(outer, inner, strict=True))


def _of_while(equation: Any) -> Flow:
    """Inputs: the condition's constants, the body's, the carry."""
    first, second = equation.params["cond_nconsts"], equation.params["body_nconsts"]
    condition, body = (flow(equation.params[name].jaxpr) for name in ("cond_jaxpr", "body_jaxpr"))
    carried = _carried(body.sources, second)
    body = body._replace(reads=body.reads | _moved(body.sources, carried))
    marks = [
        {place if place < first else place + second for place in asked} | {place + first for place in done}
        for asked, done in zip(condition.marks, body.marks, strict=True)
    ]
    sources = [source + first if source is not None else None for source in carried]
    reads, keys, folds, draws = marks
    return Flow(sources, reads, keys, folds, draws, [None] * len(sources))


def _carried(sources: Sequence[int | None], consts: int) -> list[int | None]:
    """Of a loop's carries, those that each turn leaves as they are."""
    return [source if source == number + consts else None for number, source in enumerate(sources)]


def _moved(sources: Sequence[int | None], kept: Sequence[int | None]) -> set[int]:
    """The inputs that come out in another place than their own: some other value is made of them."""
    pairs = zip(sources, kept, strict=True)
    return {source for source, own in pairs if source is not None and source != own}
