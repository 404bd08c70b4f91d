"""What a constructor does with what it is given: keeps it, converts it, checks it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from statelint.model.registrations import Deed, Disturbance
from statelint.model.source import Kind
from statelint.source import arrays
from statelint.source.fields import annotation_kind
from statelint.source.outline import Outline
from statelint.source.terms import dotted

_CONVERTS = frozenset(
    f"{module}.{name}"
    for module in ("jax.numpy", "numpy")
    for name in ("asarray", "array", "atleast_1d", "atleast_2d", "broadcast_to", "stack", "ravel", "reshape")
)
_CHECKED = frozenset({"shape", "ndim", "dtype", "size"})


class Constructor(msgspec.Struct, frozen=True):
    """A constructor.

    Attributes:
        parameters: in the order of their positions, without `self`.
        of: the attribute that each parameter is kept in, unchanged.
        arrays: attributes that are surely given an array made here.
        takes_all: it has `**kwargs`.
    """

    node: ast.FunctionDef
    parameters: tuple[str, ...]
    of: dict[str, str]
    arrays: frozenset[str]
    disturbances: tuple[Disturbance, ...]
    outline: Outline
    takes_all: bool = False

    def attribute(self, position: int) -> str:
        """The attribute that the argument at this position is kept in."""
        return self.of.get(self.parameters[position], "") if position < len(self.parameters) else ""

    def does_not_take(self, fields: Iterable[str]) -> tuple[Disturbance, ...]:
        """Fields that are no parameters: unflatten gives them all by their names."""
        at = self.outline.text.at(self.node)
        missing = () if self.takes_all else sorted(set(fields) - set(self.parameters))
        return tuple(Disturbance("does not take", name, at) for name in missing[:1])


def read_constructor(
    node: ast.FunctionDef, outline: Outline, leaves: Mapping[str, str], *, is_init: bool
) -> Constructor:
    """What `__init__` or `__post_init__` does with the leaves of its class."""
    given = node.args
    first = (given.posonlyargs + given.args)[:1]
    parameters = [argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)][1:]
    reader = _Reader(outline, first[0].arg if first else "self", set(leaves), parameters if is_init else [])
    reader.read(node.body)
    annotated = {argument.arg for argument in given.args if _is_array(argument.annotation, outline)}
    reader.arrays.update(attribute for parameter, attribute in reader.of.items() if parameter in annotated)
    return Constructor(
        node,
        tuple(parameters),
        reader.of,
        frozenset(reader.arrays),
        tuple(reader.found),
        outline,
        takes_all=given.kwarg is not None,
    )


def _is_array(annotation: ast.expr | None, outline: Outline) -> bool:
    return annotation is not None and annotation_kind(annotation, outline).is_array


class _Reader:
    """Reads the statements that are always run."""

    def __init__(self, outline: Outline, owner: str, leaves: set[str], parameters: list[str]) -> None:
        self.outline = outline
        self.owner = owner
        self.leaves = leaves
        self.parameters = parameters
        self.of: dict[str, str] = {}
        self.arrays: set[str] = set()
        self.found: list[Disturbance] = []

    def read(self, body: list[ast.stmt]) -> None:
        kept = {parameter: attribute for node in body for attribute, parameter in self._keeps(node)}
        self.of.update(kept)
        for node in body:
            match node:
                case ast.Assert(test=test):
                    self._check(test)
                case ast.If(test=test, body=[*_, ast.Raise()], orelse=[]):
                    self._check(test)
                case ast.Expr(
                    value=ast.Call(func=function, args=[owner, ast.Constant(value=str() as attribute), value])
                ):
                    if dotted(function) == "object.__setattr__" and dotted(owner) == self.owner:
                        self._set(attribute, value, whole=True)
                case ast.Assign(targets=[ast.Attribute() | ast.Subscript() as target], value=value):
                    attribute = self._attribute(target)
                    if attribute:
                        self._set(attribute, value, whole=isinstance(target, ast.Attribute))

    def _keeps(self, node: ast.stmt) -> Iterator[tuple[str, str]]:
        """`self.x = x`, alone or in a tuple, or converted."""
        match node:
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                kept = value.args[0] if isinstance(value, ast.Call) and value.args else value
                is_kept = kept is value or self._name(value) in _CONVERTS
                if is_kept and isinstance(kept, ast.Name) and kept.id in self.parameters:
                    yield self._attribute(target), kept.id
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for each, value in zip(targets, values, strict=False):
                    if isinstance(value, ast.Name) and value.id in self.parameters:
                        yield self._attribute(each), value.id

    def _attribute(self, target: ast.expr) -> str:
        """The attribute of `self` that a target is, or is in."""
        owner = target.value if isinstance(target, ast.Subscript) else target
        is_own = isinstance(owner, ast.Attribute) and dotted(owner.value) == self.owner
        return owner.attr if is_own and isinstance(owner, ast.Attribute) else ""

    def _set(self, attribute: str, value: ast.expr, *, whole: bool) -> None:
        if not isinstance(value, ast.Call):
            return
        name = self._name(value)
        is_numpy = arrays.CALL_KINDS.get(name) is Kind.NUMPY
        is_array = is_numpy or name in arrays.MAKERS or name in _CONVERTS or name.startswith("jax.numpy.")
        if is_array:
            self.arrays.add(attribute)
        if attribute not in self.leaves or not is_array:
            return
        inputs = {below.id for below in ast.walk(value) if isinstance(below, ast.Name)} & set(self.parameters)
        if not whole:
            self._note("overwrites", attribute, value)
        elif name in _CONVERTS and (inputs or self._mentions(value, {attribute})):
            self._note("converts", attribute, value)

    def _name(self, value: ast.expr) -> str:
        """The absolute name of what is called."""
        return self.outline.absolute(dotted(value.func)) if isinstance(value, ast.Call) else ""

    def _check(self, test: ast.expr) -> None:
        """A condition on the shape, the dtype or the type of a leaf, without which it raises."""
        for below in ast.walk(test):
            checked: ast.expr | None = None
            match below:
                case ast.Attribute(value=value, attr=attribute) if attribute in _CHECKED:
                    checked = value
                case ast.Call(func=ast.Name(id="isinstance" | "len"), args=[value, *_]):
                    checked = value
            leaf = self._leaf(checked) if checked is not None else ""
            if leaf:
                self._note("checks", leaf, test)
                return

    def _leaf(self, node: ast.expr) -> str:
        """The leaf that an expression is: a parameter that is kept in it, or the attribute itself."""
        name = self.of.get(node.id, "") if isinstance(node, ast.Name) else self._attribute(node)
        return name if name in self.leaves else ""

    def _mentions(self, node: ast.expr, attributes: set[str]) -> bool:
        below = (each for each in ast.walk(node) if isinstance(each, ast.Attribute))
        return any(self._attribute(each) in attributes for each in below)

    def _note(self, does: Deed, leaf: str, node: ast.expr) -> None:
        self.found.append(Disturbance(does, leaf, self.outline.text.at(node)))
