"""What donation is good for: the buffers that a jitted step asks to reuse, and those that no output can take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from statelint.probe.flow import flow
from statelint.probe.jaxprs import is_literal


def ledger(jaxpr: Any, own: Mapping[Any, Any]) -> dict[Any, str | None]:
    """The variables that a jit in the jaxpr is given to donate: None when an output reuses the buffer, or why not.

    XLA gives a donated buffer to an output of the same shape and dtype, or else to one with as many elements of the
    same width (which jax 0.5 does not yet do). Which of several alike it takes makes no difference in bytes; a leaf is
    blamed here for the loss of its own output.

    Args:
        own: of each input, the output that takes its place.
    """
    found: dict[Any, str | None] = {}
    for equation in jaxpr.eqns:
        flags = equation.params.get("donated_invars", ())
        if any(flags):
            inside = flow(equation.params["jaxpr"].jaxpr)
            used = inside.reads | {source for source in inside.sources if source is not None}
            donated = [
                (variable, place in used)
                for place, (variable, flag) in enumerate(zip(equation.invars, flags, strict=True))
                if flag and not is_literal(variable)
            ]
            for variable, is_used in donated:
                if not is_used:
                    # What an older jax hands on around the jit is its own output.
                    found[variable] = None if own.get(variable) is variable else "the step never uses it"
            waiting = [variable for variable, is_used in donated if is_used]
            found |= _paired(waiting, list(equation.outvars), own)
    return found


def _paired(donated: list[Any], outputs: list[Any], own: Mapping[Any, Any]) -> dict[Any, str | None]:
    found: dict[Any, str | None] = {}
    ways: tuple[Callable[[Any, Any], bool], ...] = (
        lambda one, other: own.get(one) is other and _like(one) == _like(other),
        lambda one, other: _like(one) == _like(other),
        lambda one, other: _size(one) == _size(other),
    )
    for fits in ways:
        for variable in [variable for variable in donated if variable not in found]:
            place = next((place for place, output in enumerate(outputs) if fits(variable, output)), None)
            if place is not None:
                del outputs[place]
                found[variable] = None
    return found | {variable: _why(variable, outputs) for variable in donated if variable not in found}


def _like(variable: Any) -> tuple[Any, Any]:
    return variable.aval.shape, variable.aval.dtype


def _size(variable: Any) -> tuple[int, int]:
    return math.prod(variable.aval.shape), int(variable.aval.dtype.itemsize)


def _why(variable: Any, left: list[Any]) -> str:
    shape = variable.aval.shape
    other = next((output.aval.dtype for output in left if output.aval.shape == shape), None)
    return f"the output of its shape is {other}" if other is not None else "no output of its size is left"
