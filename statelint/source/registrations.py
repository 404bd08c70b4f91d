"""Classes with a flatten and unflatten of their own, or that are put together through a constructor."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from statelint.diagnostics import Location
from statelint.model.registrations import AuxArray, PytreeRegistration, Rebuilt
from statelint.model.source import Kind
from statelint.source import flavours
from statelint.source.classes import Known
from statelint.source.constructors import Constructor, read_constructor
from statelint.source.declared import ClassOutline
from statelint.source.execution import Execution
from statelint.source.expressions import Expressions
from statelint.source.fields import annotation_kind
from statelint.source.index import Index
from statelint.source.outline import Outline
from statelint.source.symbols import CONTAINERS, UNKNOWN, Function, Value
from statelint.source.terms import Term

_FLATTENS = ("tree_flatten_with_keys", "tree_flatten")


def read(outline: Outline, index: Index) -> list[PytreeRegistration]:
    """The registrations of a file's own classes; none of one that is nested too deeply to be run."""
    try:
        return list(_read(outline, index))
    except RecursionError:
        return []


def _read(outline: Outline, index: Index) -> Iterator[PytreeRegistration]:
    for cls in outline.classes.values():
        if _has_node_decorator(outline, cls):
            flatten = next((cls.bodies[name] for name in _FLATTENS if name in cls.bodies), None)
            unflatten = cls.bodies.get("tree_unflatten")
            if flatten is not None and unflatten is not None:
                yield _Registration(outline, index, cls, with_keys=flatten.name == _FLATTENS[0]).read(
                    Function(flatten), Function(unflatten, bound=1)
                )
        known = index.known(outline, cls.name, "")
        if known is not None and _is_rebuilt(known):
            yield from _rebuilt(outline, cls, known)
    yield from _called(outline, index)


def _has_node_decorator(outline: Outline, cls: ClassOutline) -> bool:
    return any(outline.absolute(decorator.name) in flavours.REGISTER_NODE for decorator in cls.decorators)


def _called(outline: Outline, index: Index) -> Iterator[PytreeRegistration]:
    """`register_pytree_node(Cls, flatten, unflatten)`."""
    for scope, call in outline.node_calls:
        flatten = _function(outline, scope, call.argument(1, "flatten_func"))
        if call.last == "register_pytree_with_keys":
            flatten = _function(outline, scope, call.argument(1, "flatten_with_keys"))
        unflatten = _function(outline, scope, call.argument(2, "unflatten_func"))
        named = call.argument(0, "nodetype")
        cls = outline.find_class(named.name, scope) if named is not None and named.form == "name" else None
        if cls is not None and flatten is not None and unflatten is not None:
            with_keys = call.last == "register_pytree_with_keys"
            yield _Registration(outline, index, cls, with_keys=with_keys).read(flatten, unflatten)


def _function(outline: Outline, scope: str, term: Term | None) -> Function | None:
    if term is None:
        return None
    if isinstance(term.node, ast.Lambda):
        return Function(term.node)
    if term.form != "name":
        return None
    while True:
        found = outline.defined.get(f"{scope}.{term.name}" if scope else term.name)
        if found is not None:
            static = not found.decorator_list or not found.args.args or found.args.args[0].arg != "cls"
            return Function(found, bound=0 if static else 1)
        if not scope:
            return None
        scope = scope.rpartition(".")[0]


def _is_rebuilt(known: Known) -> bool:
    flavour = known.cls.flavour
    return any(each.name == flavour and each.rebuilds for each in _ALL)


_ALL = (*flavours.BASES.values(), *flavours.DECORATORS.values())


def _rebuilt(outline: Outline, cls: ClassOutline, known: Known) -> Iterator[PytreeRegistration]:
    """A dataclass that is put together through its constructor."""
    leaves = {field.name for field in known.cls.fields if not field.static}
    found = []
    for name in ("__init__", "__post_init__"):
        node = cls.bodies.get(name)
        if node is None or (name == "__init__" and known.cls.flavour == flavours.CHEX.name):
            continue
        made = read_constructor(node, outline, dict.fromkeys(leaves, ""), is_init=name == "__init__")
        missing = made.does_not_take(leaves) if name == "__init__" else ()
        if made.disturbances or missing:
            found.append(PytreeRegistration(known.cls.name, cls.at, name, (*missing, *made.disturbances)))
    yield from found


class _Registration:
    """One class with its own flatten and unflatten."""

    def __init__(self, outline: Outline, index: Index, cls: ClassOutline, *, with_keys: bool) -> None:
        self.outline = outline
        self.cls = cls
        self.with_keys = with_keys
        self.expressions = Expressions(outline, index)
        self.expressions.makers = frozenset({"cls", cls.name.rpartition(".")[2]})
        self.execution = Execution(outline, self.expressions)

    def read(self, flatten: Function, unflatten: Function) -> PytreeRegistration:
        """What flatten takes apart and unflatten puts together."""
        flat = self._run(flatten, [Value(origin="")])
        children, aux = flat.get("[0]"), flat.get("[1]")
        flattened = [self._child(child) for child in _in_order(children)]
        made = self._run(unflatten, [Value(origin="aux"), Value(origin="children")])
        self.expressions.forget()
        init = self.cls.bodies.get("__init__")
        leaves = {path.removeprefix("."): path for path in flattened if path}
        constructor = read_constructor(init, self.outline, leaves, is_init=True) if init is not None else None
        through = any(step.startswith("(") for step in made.items)
        return PytreeRegistration(
            name=f"{self.outline.module}.{self.cls.name}",
            at=self.cls.at,
            constructor="__init__" if through else "",
            disturbances=constructor.disturbances if constructor is not None and through else (),
            aux_arrays=tuple(self._aux_arrays(aux, constructor)),
            children=tuple(self._children(flattened, made, constructor, unflatten.node)),
        )

    def _run(self, function: Function, given: Sequence[Value]) -> Value:
        names = [argument.arg for argument in function.node.args.args[function.bound :]]
        returns = [each.value for each in self.execution.run(function, dict(zip(names, given, strict=False))).returns]
        built = [value for value in returns if any(step.startswith("(") for step in value.items)]
        return next(iter(built or returns), UNKNOWN)

    def _child(self, value: Value) -> str:
        """The attribute of `self` that a child is; empty for anything else."""
        if self.with_keys:
            value = value.get("[1]")
        path = value.origin or ""
        return path if path.count(".") == 1 and "[" not in path else ""

    def _aux_arrays(self, aux: Value, constructor: Constructor | None) -> Iterator[AuxArray]:
        parts = list(aux.items.values()) if aux.node in CONTAINERS else [aux]
        arrays = constructor.arrays if constructor is not None else frozenset()
        declared = {
            field.name for field in self.cls.fields if annotation_kind(field.annotation, self.outline) in _ARRAYS
        }
        for part in parts:
            name = (part.origin or "").removeprefix(".")
            if name in arrays or name in declared:
                yield AuxArray(name, self._at(part.spot))

    def _children(
        self, flattened: list[str], made: Value, constructor: Constructor | None, unflatten: ast.expr | ast.FunctionDef
    ) -> Iterator[Rebuilt]:
        """Children whose both ends are known, by their positions."""
        place = self.outline.text.at(unflatten)
        for step, value in made.items.items():
            position = (value.origin or "").removeprefix("children[").removesuffix("]")
            if step == "(*0)" and value.origin == "children" and constructor is not None:
                for at, flat in enumerate(flattened):
                    yield from _one(flat, constructor.attribute(at), place)
            elif position.isdigit() and int(position) < len(flattened):
                name = self._filled(step, constructor)
                yield from _one(flattened[int(position)], name, place)

    def _filled(self, step: str, constructor: Constructor | None) -> str:
        """The attribute that an argument of the constructor, or a setting of an attribute, fills."""
        if step.startswith("."):
            return step.removeprefix(".")
        argument = step.strip("()")
        if constructor is None:
            return ""
        return constructor.attribute(int(argument)) if argument.isdigit() else constructor.of.get(argument, "")

    def _at(self, spot: ast.expr | None) -> Location:
        return self.outline.text.at(spot) if spot is not None else self.cls.at


def _one(flattened: str, unflattened: str, place: Location) -> Iterator[Rebuilt]:
    if flattened and unflattened:
        yield Rebuilt(flattened.removeprefix("."), unflattened, place)


def _in_order(children: Value) -> list[Value]:
    return list(children.items.values()) if children.node in ("tuple", "list") and children.closed else []


_ARRAYS = (Kind.ARRAY, Kind.NUMPY)
