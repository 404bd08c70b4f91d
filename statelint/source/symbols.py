"""What a function works on while it is run over values that are only partly known."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Literal

import msgspec

from statelint.source.classes import Known
from statelint.source.declared import ClassOutline

Node = Literal["", "something", "array", "None", "dict", "FrozenDict", "list", "tuple", "class", "text", "function"]
"""What stands at a place of a tree; empty where that is not to be told, `something` where it is surely not None."""

Dtype = Literal["", "int", "float", "bool", "key", "raw key"]
"""The family of a leaf's dtype."""

CONTAINERS = frozenset({"dict", "FrozenDict", "list", "tuple", "class"})


class Environment(msgspec.Struct, frozen=True, eq=False):
    """What names stand for: those of a function, then those around it.

    Attributes:
        own: None for a class, which is looked up in the outline, and for what only one of two ways binds.
    """

    own: dict[str, Value | None] = {}
    outer: Environment | None = None

    def get(self, name: str) -> Value | None:
        """What a name stands for; None where that is not told here."""
        seen: Environment | None = self
        while seen is not None:
            if name in seen.own:
                return seen.own[name]
            seen = seen.outer
        return None

    def functions(self) -> list[Function]:
        """Those that own names stand for."""
        return [value.function for value in self.own.values() if value is not None and value.function is not None]


class Function(msgspec.Struct, frozen=True):
    """A function or lambda.

    Attributes:
        around: what the names around it stand for.
        cls: the class that it is a method of.
        bound: how many of its parameters are given already: a method's first.
    """

    node: ast.FunctionDef | ast.Lambda
    around: Environment = Environment()
    cls: str = ""
    bound: int = 0

    @property
    def name(self) -> str:
        """As it was defined."""
        return "<lambda>" if isinstance(self.node, ast.Lambda) else self.node.name


class Value(msgspec.Struct, frozen=True):
    """What an expression gives, as far as it is known.

    Attributes:
        spot: the expression that made it.
        items: of a container, by the step of their path: `['w']`, `[0]`, `.w`.
        closed: the items are all there are.
        known: the pytree class.
        origin: the path of the state that it is taken from unchanged.
        base: the path of the state that all but its items are taken from.
        reckoned: the path of the state that it was reckoned from.
        follows: of a Python number: the path of the state that it is reckoned from in one operation or several.
        python: a Python number, which is no array.
        weak: an array that is made of one, without a dtype.
        fixed: a PRNG key made from a constant.
        made_of: the path of the state's PRNG key that it is made of by nothing but constants.
        plain: the dataclass that it is, where JAX does not know it.
    """

    node: Node = ""
    dtype: Dtype = ""
    spot: ast.expr | None = None
    items: dict[str, Value] = {}
    closed: bool = False
    known: Known | None = None
    origin: str | None = None
    base: str | None = None
    reckoned: str | None = None
    follows: str | None = None
    python: bool = False
    weak: bool = False
    fixed: bool = False
    made_of: str | None = None
    text: str = ""
    function: Function | None = None
    plain: ClassOutline | None = None

    @property
    def says(self) -> str:
        """What stands there, in the words of a message."""
        if self.node == "class" and self.known is not None:
            return self.known.cls.short_name
        if self.node == "array" and self.python:
            return f"a Python {self.dtype}"
        if self.node == "array":
            return "an array"
        return self.node if self.node in ("None", "FrozenDict", "something") else f"a {self.node}"

    @property
    def plainly(self) -> tuple[object, ...] | None:
        """All there is to say of it but where it was made; None for what has parts or comes from somewhere."""
        has_parts = self.items or self.known or self.function or self.plain
        paths = (self.origin, self.base, self.reckoned, self.follows, self.made_of)
        if has_parts or paths != (None,) * len(paths):
            return None
        return (self.node, self.dtype, self.closed, self.python, self.weak, self.fixed, self.text)

    def get(self, step: str) -> Value:
        """The part at this step of a path."""
        if step in self.items:
            return self.items[step]
        whole = self.base if self.origin is None else self.origin
        return UNKNOWN if whole is None else Value(origin=f"{whole}{step}")

    def put(self, steps: list[str], value: Value) -> Value:
        """A copy in which the part at this path is another."""
        if not steps:
            return value
        inner = self.get(steps[0]).put(steps[1:], value)
        base = self.base if self.origin is None else self.origin
        items = {**self.items, steps[0]: inner}
        return msgspec.structs.replace(self, items=items, origin=None, base=base, fixed=False)

    def taken_from(self, path: str) -> Value:
        """A copy whose parts know where in the state they stand."""
        items = {step: item.taken_from(f"{path}{step}") for step, item in self.items.items()}
        return msgspec.structs.replace(self, origin=path, items=items, fixed=False, spot=None)

    def blurred(self) -> Value:
        """Its structure with other leaves."""
        if self.node not in CONTAINERS:
            return Value("array" if self.node == "array" else "")
        items = {step: item.blurred() for step, item in self.items.items()}
        return msgspec.structs.replace(self, items=items, origin=None, base=None)


class Given(msgspec.Struct, frozen=True):
    """What a call is given.

    Attributes:
        words: by keyword.
        starred: `*values` is among it.
        unpacked: `**words` is.
    """

    values: list[Value]
    words: dict[str, Value]
    starred: bool
    unpacked: bool

    @property
    def functions(self) -> list[Function]:
        """The functions of this file among it."""
        return [each.function for each in (*self.values, *self.words.values()) if each.function is not None]


UNKNOWN = Value()


def join(first: Value, second: Value) -> Value:
    """What is true of both."""
    if first is second:
        return first
    if first.node != second.node or (first.known is not second.known):
        return UNKNOWN
    steps = first.items.keys() & second.items.keys()
    return Value(
        first.node,
        first.dtype if first.dtype == second.dtype else "",
        second.spot,
        {step: join(first.items[step], second.items[step]) for step in steps},
        closed=first.closed and second.closed and first.items.keys() == second.items.keys(),
        known=first.known,
        origin=first.origin if first.origin == second.origin else None,
        python=first.python and second.python,
        weak=(first.python or first.weak) and (second.python or second.weak),
        made_of=first.made_of if first.made_of == second.made_of else None,
    )


def container(node: Node, items: Iterable[tuple[str, Value]], spot: ast.expr, *, closed: bool = True) -> Value:
    """A dict, tuple or list of these."""
    return Value(node, spot=spot, items=dict(items), closed=closed)


def named(key: str) -> str:
    """The step of a path to a key of a dict."""
    return f"[{key!r}]"
