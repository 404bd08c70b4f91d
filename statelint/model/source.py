"""What the source says of the states in it: classes, the values built of them, jit sites, loops over them."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Literal

import msgspec

from statelint.diagnostics import Edit, Location, insert_after, insert_before, replace, wrap
from statelint.model.paths import label

Framework = Literal["jax", "equinox", "flax.nnx"]
"""Whose jit: plain jax traces every leaf, the other two hold Python values static."""


class Kind(enum.Enum):
    """What an expression, or an annotation, stands for, as far as the source alone can tell."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    COMPLEX = "complex"
    STRING = "str"
    NONE = "None"
    TUPLE = "tuple"
    LIST = "list"
    DICT = "dict"
    SET = "set"
    CALLABLE = "callable"
    ARRAY = "array"
    NUMPY = "numpy"
    UNKNOWN = "unknown"

    @property
    def is_number(self) -> bool:
        """A Python number or bool."""
        return self in (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.COMPLEX)

    @property
    def is_mutable(self) -> bool:
        """A container that can be changed in place."""
        return self in (Kind.LIST, Kind.DICT, Kind.SET)

    @property
    def is_array(self) -> bool:
        """A jax or a NumPy array."""
        return self in (Kind.ARRAY, Kind.NUMPY)


class Expression(msgspec.Struct, frozen=True):
    """An expression that becomes a field of a state.

    Attributes:
        text: as written, on one line.
        number: the value of a literal Python number; None for anything else.
        weak: it makes a weakly typed jax array (`jnp.asarray(0.0)`, `jnp.full(s, 1.0)` ...). A bare Python
            number is weak too, but is told by its kind.
        buffer: names the device buffer that it holds. Two expressions with the same name hold the same one;
            None: a buffer of its own, no buffer, or not to be told.
        fresh: what it makes that never equals another of its making: a lambda, a partial, NaN ...
        numbers: what the numbers are that it is made of, where it is weak.
        last_argument: of a call that would take a dtype and is given none.
        refused: what it is, in the words of a message, where jit takes no such leaf.
    """

    text: str
    at: Location
    kind: Kind = Kind.UNKNOWN
    number: int | float | None = None
    weak: bool = False
    buffer: str | None = None
    fresh: str | None = None
    numbers: Kind = Kind.UNKNOWN
    last_argument: Location | None = None
    refused: str = ""

    @property
    def starts_count(self) -> bool:
        """A literal int from which a counter starts."""
        return self.kind is Kind.INT and self.number in (-1, 0, 1)

    @property
    def is_literal(self) -> bool:
        """Written as a number, and nothing that is reckoned or called."""
        return self.text.lstrip("+-.")[:1].isdigit()

    @property
    def overflows(self) -> bool:
        """A Python int that no int32 holds."""
        return self.kind is Kind.INT and self.number is not None and not -(2**31) <= self.number < 2**31

    @property
    def dtype(self) -> str | None:
        """The dtype that JAX gives it when asked for none; None when it is not to be told, or does not hold it."""
        return None if self.overflows else _DTYPES.get(self.numbers)

    def with_dtype(self) -> tuple[Edit, ...]:
        """The same value, strongly typed; no edits where the dtype is not to be told."""
        if self.dtype is None:
            return ()
        dtype = f"{{jax.numpy}}.{self.dtype}"
        if self.text in ("0", "0.0", "0."):
            return replace(self.at, f"{{jax.numpy}}.zeros((), {dtype})")
        if self.last_argument is not None:
            return insert_after(self.last_argument, f", dtype={dtype}")
        return wrap(self.at, "{jax.numpy}.asarray(", f", {dtype})")

    def copied(self) -> tuple[Edit, ...]:
        """The same value in a buffer of its own."""
        if self.kind is Kind.ARRAY:
            return wrap(self.at, "{jax.numpy}.copy(", ")")
        return wrap(self.at, "{jax}.tree.map({jax.numpy}.copy, ", ")")


_DTYPES = {Kind.INT: "int32", Kind.FLOAT: "float32"}


class StateField(msgspec.Struct, frozen=True):
    """A field of a class that JAX flattens.

    Attributes:
        static: part of the treedef (aux data), not a leaf.
        counter: its name is that of a step counter.
        resizes: its name is that of a size or a rank, which must be static since shapes depend on it.
        unmarked: a base declares it static, and this class again without the mark.
        default_keyword: the `default` of `field(default=...)`, where the default is given so.
        default_factory: the default is what a function returns.
        number: where it is annotated as an `int` or `float`, and nothing more.
        as_data: edits that make a static field a leaf that is an array; none where the mark stands elsewhere.
    """

    name: str
    at: Location
    annotation: str = ""
    kind: Kind = Kind.UNKNOWN
    default: Expression | None = None
    static: bool = False
    counter: bool = False
    resizes: bool = False
    unmarked: bool = False
    default_keyword: Location | None = None
    default_factory: bool = False
    number: Location | None = None
    as_data: tuple[Edit, ...] = ()

    def holds(self, is_such: Callable[[Kind], bool]) -> bool:
        """Its declaration says so: the annotation, or the default."""
        return is_such(self.kind) or (self.default is not None and is_such(self.default.kind))


class StateClass(msgspec.Struct, frozen=True):
    """A class that JAX flattens.

    Attributes:
        name: dotted, with its module (`train.state.TrainState`).
        flavour: how it was made a pytree: a key of the table of flavours.
        framework: under whose jit its values usually go.
        is_state: its name says that it is carried from step to step; else it may be a model or settings.
        fields: its own and the inherited ones, in the order of the constructor.
        own: names of the fields that this class itself declares.
    """

    name: str
    at: Location
    flavour: str
    framework: Framework = "jax"
    is_state: bool = False
    fields: tuple[StateField, ...] = ()
    own: frozenset[str] = frozenset()

    @property
    def own_fields(self) -> tuple[StateField, ...]:
        """The fields that this class itself declares: those that findings at its lines are about."""
        return tuple(field for field in self.fields if field.name in self.own)

    @property
    def holds_leaves(self) -> bool:
        """Its defaults are leaves; a NamedTuple that is not named like a state may be a mere record."""
        return self.is_state or not self.is_tuple

    def with_dtype(self, field: StateField) -> tuple[Edit, ...]:
        """The default of a field strongly typed, and made anew for each value where the class is a dataclass."""
        value = field.default.with_dtype() if field.default is not None else ()
        if not value or field.default is None:
            return ()
        annotated = replace(field.number, "{jax}.Array") if field.number is not None else ()
        if field.default_factory or self.is_tuple:
            return (*annotated, *value)
        if field.default_keyword is not None:
            named = insert_after(field.default_keyword, "_factory")
            return (*annotated, *named, *insert_before(field.default.at, "lambda: "), *value)
        before, after = wrap(field.default.at, "{dataclasses}.field(default_factory=lambda: ", ")")
        return (*annotated, before, *value, after)

    def advised(self, field: StateField, value: str) -> str:
        """What to write for a value where it is the default of a field: a dataclass refuses an array there."""
        if field.default_factory or self.is_tuple:
            return f"`{value}`"
        return f"`dataclasses.field(default_factory=lambda: {value})`"

    @property
    def is_tuple(self) -> bool:
        """A NamedTuple, whose defaults are values and not made anew."""
        return self.flavour == "NamedTuple"

    @property
    def is_node(self) -> bool:
        """A class with a flatten of its own, whose static fields are its aux data."""
        return self.flavour == "register_pytree_node"

    @property
    def short_name(self) -> str:
        """Without the module."""
        return self.name.rsplit(".", 1)[-1]


class StateItem(msgspec.Struct, frozen=True):
    """One entry of a value that builds a state.

    Attributes:
        path: where it goes, as the user would write it below the state (`opt.mu`, `['w']`, `[0]`).
        name: the last name on that path; empty for a position of a tuple.
        field: the class's field, when the value is of a known class.
    """

    path: str
    name: str
    value: Expression
    field: StateField | None = None
    counter: bool = False

    @property
    def label(self) -> str:
        """The path as messages write it."""
        return label(self.path)

    @property
    def is_static(self) -> bool:
        """Known to be part of the treedef."""
        return self.field is not None and self.field.static


class StateValue(msgspec.Struct, frozen=True):
    """An expression that builds a state: a constructor call, `.create`, `.replace`, a dict, a tuple.

    Attributes:
        text: what is called, or a short form of the literal.
        cls: the class of the value; None for a dict or tuple, or when it is not to be told.
        is_state: by its class, by the name that it is bound to, or by the function that returns it.
        traced: it is built while a step or a jitted function is traced, so that its leaves are fresh buffers.
        donates: a jit site in the same file donates.
    """

    text: str
    at: Location
    items: tuple[StateItem, ...]
    cls: StateClass | None = None
    framework: Framework = "jax"
    is_state: bool = False
    traced: bool = False
    donates: bool = False


class AttributeUpdate(msgspec.Struct, frozen=True):
    """`model.count = model.count + 1` inside a step: an attribute changed in place."""

    attribute: str
    at: Location
    value: Expression
    counter: bool = False


class StepFunction(msgspec.Struct, frozen=True):
    """A function that is a step, as far as the source shows: it is jitted, or named like one.

    Attributes:
        framework: whose jit it runs under; None when the source shows none.
        updates: attributes of its parameters that it changes in place by a number.
    """

    name: str
    at: Location
    framework: Framework | None = None
    updates: tuple[AttributeUpdate, ...] = ()


class SyntaxFault(msgspec.Struct, frozen=True):
    """A file that cannot be read as Python."""

    at: Location
    message: str


class UnusedIgnore(msgspec.Struct, frozen=True):
    """An ignore comment, or a code in one, that silences nothing.

    Attributes:
        codes: those that silence nothing; empty when the comment names none.
        removal: what takes them out of the file; empty where a run that only reads the source cannot tell.
    """

    at: Location
    codes: tuple[str, ...]
    removal: tuple[Edit, ...] = ()
