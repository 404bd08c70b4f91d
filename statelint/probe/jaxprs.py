"""Reading a jaxpr: what made a variable, which buffer it stands for, what is donated."""

from __future__ import annotations

import functools
from typing import Any

import jax

from statelint.probe import frames


class Jaxpr:
    """A traced function's jaxpr, by its output variables.

    Args:
        jaxpr: as `jax.jit(f).trace(...).jaxpr` gives it, opened.
    """

    def __init__(self, jaxpr: Any) -> None:
        self.jaxpr = jaxpr

    @functools.cached_property
    def _makers(self) -> dict[Any, Any]:
        return {variable: equation for equation in self.jaxpr.eqns for variable in equation.outvars}

    def _maker(self, variable: Any) -> Any:
        return None if is_literal(variable) else self._makers.get(variable)

    def operation(self, variable: Any) -> list[frames.Place]:
        """The user's frames of the operation that made a variable, innermost first; none for an input or a literal.

        A jitted step is one operation, called by us; its own operations carry the user's frames.
        """
        if (equation := self._maker(variable)) is None:
            return []
        if places := frames.of_operation(equation.source_info):
            return places
        inner = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
        inner = getattr(inner, "jaxpr", inner)
        if inner is None or len(inner.outvars) != len(equation.outvars):
            return []
        return Jaxpr(inner).operation(inner.outvars[equation.outvars.index(variable)])

    def buffer(self, leaf: Any, variable: Any) -> Any:
        """What tells the device buffer of an eager leaf apart: its variable, or the very object where it is a constant.

        None for what is no jax array. `device_put` gives back the buffer it is given (FACTS 14): it is looked through.
        """
        if not isinstance(leaf, jax.Array):
            return None
        while (equation := self._maker(variable)) is not None and equation.primitive.name == "device_put":
            variable = equation.invars[equation.outvars.index(variable)]
        return id(leaf) if is_literal(variable) else variable

    def donated(self) -> set[Any]:
        """The variables that a jit in the jaxpr is given to donate."""
        return {
            variable
            for equation in self.jaxpr.eqns
            for variable, donated in zip(equation.invars, equation.params.get("donated_invars", ()), strict=False)
            if donated and not is_literal(variable)
        }


def is_literal(variable: Any) -> bool:
    """A constant written into the jaxpr, which nothing made."""
    return hasattr(variable, "val")


def out_avals(traced: Any) -> list[jax.ShapeDtypeStruct]:
    """The avals that a traced function gives back, with their weak types."""
    return [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=bool(getattr(aval, "weak_type", False)))
        for aval in traced.jaxpr.out_avals
    ]
