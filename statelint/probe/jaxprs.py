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
        inner, name = _inside(equation, variable)
        return inner.operation(name) if inner else []

    def library(self, variable: Any) -> frames.Place | None:
        """The line of a library at which the operation that made a variable stands, where it stands in one."""
        if (equation := self._maker(variable)) is None:
            return None
        inner, name = _inside(equation, variable)
        return (inner.library(name) if inner else None) or frames.of_library(equation.source_info)

    def placed(self, variable: Any) -> Any:
        """The sharding or device that an eager `device_put` commits a variable to."""
        equation = self._maker(variable)
        if equation is None or equation.primitive.name != "device_put":
            return None
        target = equation.params["devices"][equation.outvars.index(variable)]
        return jax.sharding.SingleDeviceSharding(target) if isinstance(target, jax.Device) else target

    def buffer(self, leaf: Any, variable: Any) -> Any:
        """What tells the device buffer of an eager leaf apart: its variable, or the very object where it is a constant.

        None for what is no jax array. `device_put` gives back the buffer it is given (FACTS 14): it is looked through.
        """
        if not isinstance(leaf, jax.Array):
            return None
        while (equation := self._maker(variable)) is not None and equation.primitive.name == "device_put":
            variable = equation.invars[equation.outvars.index(variable)]
        return id(leaf) if is_literal(variable) else variable


def _inside(equation: Any, variable: Any) -> tuple[Jaxpr | None, Any]:
    """The jaxpr that an equation calls, and its own name for one of the equation's outputs."""
    inner = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
    inner = getattr(inner, "jaxpr", inner)
    if inner is None or len(inner.outvars) != len(equation.outvars):
        return None, None
    return Jaxpr(inner), inner.outvars[equation.outvars.index(variable)]


def is_literal(variable: Any) -> bool:
    """A constant written into the jaxpr, which nothing made."""
    return hasattr(variable, "val")


def out_avals(traced: Any) -> list[jax.ShapeDtypeStruct]:
    """The avals that a traced function gives back, with their weak types."""
    return [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=bool(getattr(aval, "weak_type", False)))
        for aval in traced.jaxpr.out_avals
    ]
