"""Reading a jaxpr: what made a variable, which buffer it stands for, what is donated."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax

from statelint.probe import frames


class Made(NamedTuple):
    """A variable: the equation that makes it, and its place among the outputs of that."""

    equation: Any
    place: int


class Jaxpr:
    """A traced function's jaxpr, by its output variables.

    Args:
        jaxpr: as `jax.jit(f).trace(...).jaxpr` gives it, opened.
    """

    def __init__(self, jaxpr: Any) -> None:
        self.jaxpr = jaxpr

    @functools.cached_property
    def _makers(self) -> dict[Any, Made]:
        return {
            variable: Made(equation, place)
            for equation in self.jaxpr.eqns
            for place, variable in enumerate(equation.outvars)
        }

    def maker(self, variable: Any) -> Made | None:
        """What makes a variable; None for an input or a literal."""
        return None if is_literal(variable) else self._makers.get(variable)

    def operation(self, variable: Any) -> list[frames.Place]:
        """The user's frames of the operation that made a variable, innermost first; none for an input or a literal.

        A jitted step is one operation, called by us; its own operations carry the user's frames.
        """
        if (made := self.maker(variable)) is None:
            return []
        if places := frames.of_operation(made.equation.source_info):
            return places
        inner, name = _inside(made)
        return inner.operation(name) if inner else []

    def reader(self, variable: Any) -> list[frames.Place]:
        """The user's frames of the first operation that is given a variable, innermost first."""
        for equation in self.jaxpr.eqns:
            for number, operand in enumerate(equation.invars):
                if operand is variable:
                    if found := frames.of_operation(equation.source_info):
                        return found
                    for inner in _called(equation):
                        if len(inner.invars) == len(equation.invars):
                            return opened(inner).reader(inner.invars[number])
        return []

    def library(self, variable: Any) -> frames.Place | None:
        """The line of a library at which the operation that made a variable stands, where it stands in one."""
        if (made := self.maker(variable)) is None:
            return None
        inner, name = _inside(made)
        return (inner.library(name) if inner else None) or frames.of_library(made.equation.source_info)

    def placed(self, variable: Any) -> Any:
        """The sharding that an eager factory commits a variable to, as far as it says so."""
        made = self.maker(variable)
        if made is not None and made.equation.primitive.name == "device_put":
            target = made.equation.params["devices"][made.place]
            return jax.sharding.SingleDeviceSharding(target) if isinstance(target, jax.Device) else target
        place = self.sharded(variable)
        return place if _on_devices(place) else None

    def sharded(self, variable: Any) -> Any:
        """The sharding that the operation which made a variable names for it, over the axes of a mesh."""
        if (made := self.maker(variable)) is None:
            return None
        place = _output(made)
        if place is None:
            inner, name = _inside(made)
            return inner.sharded(name) if inner else None
        return place

    def buffer(self, leaf: Any, variable: Any) -> Any:
        """What an eager leaf may share its buffer by: a variable, or the very object where it is a constant.

        None for what is no jax array. Two leaves of different ones do not share; two of one may: a trace does not show
        the eager `jnp.ravel`, which copies, and `jnp.asarray`, which does not.
        """
        if not isinstance(leaf, jax.Array):
            return None
        source = self.source(variable)
        return id(leaf) if is_literal(source) else source

    def source(self, variable: Any) -> Any:
        """The variable whose buffer an eager one may be."""
        while (made := self.maker(variable)) is not None:
            operand = _handed_on(made.equation, made.place)
            if operand is None:
                break
            variable = operand
        return variable


@functools.cache
def opened(jaxpr: Any) -> Jaxpr:
    """An open jaxpr that is called. Cached until a probe is done: a step may have thousands of outputs to ask it of."""
    return Jaxpr(jaxpr)


def forget() -> None:
    """Drop what is known of jaxprs: a probe is done."""
    for known in (opened, shardings, size):
        known.cache_clear()


def _inside(made: Made) -> tuple[Jaxpr | None, Any]:
    """The jaxpr that an equation calls, and its own name for one of the equation's outputs."""
    params = made.equation.params
    inner = params.get("jaxpr") or params.get("call_jaxpr")
    inner = getattr(inner, "jaxpr", inner)
    if inner is None or len(inner.outvars) != len(made.equation.outvars):
        return None, None
    return opened(inner), inner.outvars[made.place]


def _handed_on(equation: Any, place: int) -> Any:
    """The operand that an eager operation may give back as its output at a place."""
    if equation.primitive.name in KEEPING:
        return equation.invars[place]
    if equation.primitive.name in JITS:
        return None
    for inner in _called(equation):
        if len(inner.outvars) == len(equation.outvars):
            source = opened(inner).source(inner.outvars[place])
            if source in inner.invars:
                # What a branch or a loop is given besides stands before the operands of its jaxpr.
                return equation.invars[inner.invars.index(source) - len(inner.invars)]
    return None


KEEPING = ("device_put", "stop_gradient", "random_wrap", "random_unwrap", "sharding_constraint", "reshard", "name")
"""The operations that may give back the buffer that they are given. What calls a jaxpr may, too, but for a jit."""


def _called(equation: Any) -> Iterator[Any]:
    """The jaxprs that an operation calls, opened."""
    for value in equation.params.values():
        for inner in value if isinstance(value, tuple | list) else (value,):
            inner = getattr(inner, "jaxpr", inner)
            if hasattr(inner, "eqns"):
                yield inner


def constants(closed: Any) -> list[Any]:
    """The concrete arrays that a traced function takes from around it."""
    read = (variable for equation in closed.jaxpr.eqns for variable in equation.invars)
    return [*closed.consts, *(variable.val for variable in (*read, *closed.jaxpr.outvars) if is_literal(variable))]


@functools.cache
def shardings(jaxpr: Any) -> frozenset[Any]:
    """The shardings that an open jaxpr names anywhere: a jit of it commits its outputs to their devices."""
    found: set[Any] = set()
    for equation in jaxpr.eqns:
        if equation.primitive.name in NAMING:
            found.update(filter(_on_devices, [*_outputs(equation), *equation.params.get("in_shardings", ())]))
        for inner in _called(equation):
            found |= shardings(inner)
    return frozenset(found)


@functools.cache
def size(jaxpr: Any) -> int:
    """The operations of an open jaxpr, and of all that it calls."""
    return len(jaxpr.eqns) + sum(size(inner) for equation in jaxpr.eqns for inner in _called(equation))


JITS = ("jit", "pjit")
"""What a jit is called in a jaxpr, by older versions of JAX the second."""

NAMING = (*JITS, "device_put", "sharding_constraint", "shard_map")
"""The operations that may name a sharding."""


def _output(made: Made) -> Any:
    """The sharding that an operation names for one of its outputs; None where it says nothing of it."""
    if made.equation.primitive.name in JITS:  # which may have thousands
        place = made.equation.params["out_shardings"][made.place]
        return place if isinstance(place, jax.sharding.Sharding) else None
    return _outputs(made.equation)[made.place]


def _outputs(equation: Any) -> list[Any]:
    """The sharding that an operation names for each of its outputs; None for those of which it says nothing."""
    params = equation.params
    match equation.primitive.name:
        case "device_put":
            # Within a jit a single device is no more than a wish.
            named = [place if hasattr(place, "spec") else None for place in params["devices"]]
        case "jit" | "pjit":
            named = params["out_shardings"]
        case "sharding_constraint":
            named = [params["sharding"]]
        case "shard_map":
            # Up to jax 0.6 they are written as the axes of each dimension.
            specs = params.get("out_specs") or [
                jax.sharding.PartitionSpec(*(names.get(dimension) for dimension in range(variable.aval.ndim)))
                for names, variable in zip(params["out_names"], equation.outvars, strict=True)
            ]
            named = [jax.sharding.NamedSharding(params["mesh"], spec) for spec in specs]
        case _:
            named = [None] * len(equation.outvars)
    return [place if isinstance(place, jax.sharding.Sharding) else None for place in named]


def _on_devices(place: Any) -> bool:
    """Whether it is a sharding over devices, rather than left open or over an abstract mesh."""
    mesh = getattr(place, "mesh", None)
    return isinstance(place, jax.sharding.Sharding) and isinstance(mesh, jax.sharding.Mesh | None)


def is_literal(variable: Any) -> bool:
    """A constant written into the jaxpr, which nothing made."""
    return hasattr(variable, "val")


def out_avals(traced: Any) -> list[jax.ShapeDtypeStruct]:
    """The avals that a traced function gives back, with their weak types."""
    return [
        jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=bool(getattr(aval, "weak_type", False)))
        for aval in traced.jaxpr.out_avals
    ]
