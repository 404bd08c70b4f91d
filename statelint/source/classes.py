"""From a class as written to the pytree class it is: its flavour, and its fields with those of its bases."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping

import msgspec

from statelint.diagnostics import Location
from statelint.model.names import Names
from statelint.model.source import StateClass, StateField
from statelint.source import flavours
from statelint.source.declared import ClassOutline
from statelint.source.fields import FieldReader, is_true
from statelint.source.flavours import Flavour
from statelint.source.nodes import NodeOutline
from statelint.source.outline import Outline
from statelint.source.terms import Part, Term, annotation_head

Place = tuple[Outline, ClassOutline]
"""A class and the file that defines it."""

Entry = tuple[str, Term, StateField | None]
"""What goes into a field of a class, by its name; the field where the class is known."""

Find = Callable[[Outline, str, str], Place | None]
"""The class that a name stands for in a file, seen from a scope."""

NOWHERE = Location("", 1)
"""The place of what a library defines."""

MAX_BASES = 30


class Layout(msgspec.Struct):
    """The fields of a class while they are gathered from its bases.

    Attributes:
        complete: all bases are known.
        own_constructor: some class among them has an `__init__` of its own.
    """

    fields: dict[str, StateField] = {}
    keyword_only: set[str] = set()
    methods: frozenset[str] = frozenset()
    complete: bool = True
    own_constructor: bool = False


class Known(msgspec.Struct, frozen=True):
    """A pytree class and how it is called.

    Attributes:
        positional: the fields in the order of the constructor's arguments; None when that is not to be told.
        constructor: the constructor takes the fields; a class with an `__init__` of its own does not.
        creates: `create(...)` is flax's own.
    """

    cls: StateClass
    positional: tuple[StateField, ...] | None
    constructor: bool = True
    creates: bool = False

    @property
    def by_name(self) -> dict[str, StateField]:
        """The fields by name."""
        return {field.name: field for field in self.cls.fields}

    def entries(self, positional: Iterable[Term], parts: Iterable[Part]) -> list[Entry]:
        """What goes into which field, given the positional arguments and all of them."""
        by_position = zip(self.positional or (), positional, strict=False)
        return [
            *((field.name, value, field) for field, value in by_position),
            *entries_of(self.by_name, parts),
        ]


def entries_of(fields: Mapping[str, StateField], parts: Iterable[Part]) -> list[Entry]:
    """What is given by name."""
    return [(part.name, part.value, fields.get(part.name)) for part in parts if part.name is not None]


class Classes:
    """Makes out classes, once each.

    Args:
        names: what is called a state and what a counter.
        find: looks names up over the files of the project.
    """

    def __init__(self, names: Names, find: Find) -> None:
        self.names = names
        self._find = find
        self._known: dict[tuple[str, str], Known | None] = {}

    def library(self, absolute: str) -> Known | None:
        """A pytree class of a library, whose file is not looked into."""
        if flavours.BASES.get(absolute) is flavours.TRAIN_STATE:
            fields = tuple(self._train_state_fields().values())
            cls = StateClass(absolute, NOWHERE, flavours.TRAIN_STATE.name, is_state=True, fields=fields)
            return Known(cls, positional=None, creates=True)
        names = flavours.LIBRARY_STATES.get(absolute)
        if names is None:
            return None
        fields = tuple(StateField(name, NOWHERE, counter=self.names.is_counter(name)) for name in names)
        cls = StateClass(absolute, NOWHERE, flavours.FLAX_STRUCT.name, is_state=True, fields=fields)
        return Known(cls, positional=fields)

    def _train_state_fields(self) -> dict[str, StateField]:
        return {
            name: StateField(name=name, at=NOWHERE, static=static, counter=self.names.is_counter(name))
            for name, static in flavours.TRAIN_STATE_FIELDS
        }

    def known(self, outline: Outline, cls: ClassOutline) -> Known | None:
        """The pytree class that a class is; None when it is none."""
        key = (outline.text.path, cls.name)
        if key not in self._known:
            self._known[key] = None  # while it is being made out, for classes that inherit from each other
            self._known[key] = self._make_out(outline, cls)
        return self._known[key]

    def _make_out(self, outline: Outline, cls: ClassOutline) -> Known | None:
        node = outline.nodes.get(cls.name)
        if node is not None:
            return self._node(outline, cls, node)
        flavour, mark = self._flavour(outline, cls)
        if flavour is None:
            return None
        layout = Layout()
        self._lay(layout, (outline, cls), flavour, mark)
        is_state = self.names.is_state(cls.name.rpartition(".")[2]) or flavour is flavours.TRAIN_STATE
        made = StateClass(
            name=f"{outline.module}.{cls.name}",
            at=cls.at,
            flavour=flavour.name,
            framework=flavour.framework,
            is_state=is_state,
            fields=tuple(layout.fields.values()),
            own=frozenset(field.name for field in cls.fields if field.name in layout.fields),
        )
        if flavour is flavours.NAMED_TUPLE and _is_record(made) and outline.taken.isdisjoint({"", cls.short}):
            return None
        positional = tuple(field for field in made.fields if field.name not in layout.keyword_only)
        return Known(
            made,
            positional=positional if layout.complete else None,
            constructor=not layout.own_constructor,
            creates=flavour is flavours.TRAIN_STATE and "create" not in layout.methods,
        )

    def _node(self, outline: Outline, cls: ClassOutline, node: NodeOutline) -> Known:
        """A class with a flatten of its own, by what its constructor takes."""
        fields = {
            name: StateField(name, cls.at, static=name in node.aux, counter=self.names.is_counter(name))
            for name in node.parameters
            if name in node.children | node.aux
        }
        positional = tuple(fields[name] for name in itertools.takewhile(fields.__contains__, node.parameters))
        is_state = self.names.is_state(cls.short)
        name = f"{outline.module}.{cls.name}"
        made = StateClass(name, cls.at, flavours.NODE.name, is_state=is_state, fields=tuple(fields.values()))
        return Known(made, positional)

    def _flavour(self, outline: Outline, cls: ClassOutline) -> tuple[Flavour | None, Term | None]:
        """How the class is made a pytree, and the call that registers it where there is one."""
        for decorator in cls.decorators:
            if outline.absolute(decorator.name) in flavours.PARTIALS and decorator.parts:
                name = decorator.parts[0].value.name
            else:
                name = decorator.name
            flavour = flavours.DECORATORS.get(outline.absolute(name))
            if flavour is not None:
                return flavour, decorator
        registration = outline.registered.get(cls.name) or outline.registered.get(cls.name.rpartition(".")[2])
        if registration is not None:
            return flavours.REGISTERED, registration
        for base in cls.bases:
            flavour = flavours.BASES.get(outline.absolute(_base_name(base)))
            if flavour is not None:
                return flavour, None
            found = self._base(outline, base, cls)
            known = self.known(*found) if found is not None else None
            if known is not None:
                inherited = _FLAVOURS[known.cls.flavour]
                if inherited.inherited:
                    return inherited, None
        return None, None

    def _base(self, outline: Outline, base: Term, cls: ClassOutline) -> Place | None:
        found = self._find(outline, _base_name(base), cls.name.rpartition(".")[0])
        return found if found is not None and found[1] is not cls else None

    def _lay(self, layout: Layout, place: Place, flavour: Flavour, mark: Term | None, depth: int = 0) -> None:
        """Lay the fields out in the order of a dataclass: those of the last base first."""
        outline, cls = place
        if depth > MAX_BASES:
            layout.complete = False
            return
        for base in reversed(cls.bases):
            absolute = outline.absolute(_base_name(base))
            if flavours.BASES.get(absolute) is flavours.TRAIN_STATE:
                layout.fields.update(self._train_state_fields())
            elif absolute not in flavours.PLAIN_BASES and absolute not in flavours.BASES:
                found = self._base(outline, base, cls)
                if found is None:
                    layout.complete = False
                else:
                    self._lay(layout, found, flavour, self._flavour(*found)[1], depth + 1)
        layout.methods |= cls.methods
        layout.own_constructor |= bool(cls.methods & {"__init__", "__new__"})
        self._lay_own(layout, place, flavour, mark)

    def _lay_own(self, layout: Layout, place: Place, flavour: Flavour, mark: Term | None) -> None:
        outline, cls = place
        listed = _strings(mark.keyword("meta_fields")) if mark is not None and flavour.listed else frozenset()
        all_keywords = any(is_true(decorator.keyword("kw_only")) for decorator in cls.decorators)
        reader = FieldReader(self.names, outline, flavour)
        for field in cls.fields:
            annotation = outline.absolute(annotation_head(field.annotation))
            last = annotation.rpartition(".")[2]
            if last == "KW_ONLY":
                all_keywords = True
            elif last == "InitVar":
                layout.complete = False
            elif last not in ("ClassVar", "AbstractVar", "AbstractClassVar"):
                layout.fields[field.name] = _again(reader.read(field, listed), layout.fields.get(field.name))
                if all_keywords or reader.is_keyword_only(field):
                    layout.keyword_only.add(field.name)


def _again(field: StateField, inherited: StateField | None) -> StateField:
    """A field, which may be declared again without the mark that a base gives it."""
    lost = inherited is not None and inherited.static and not field.static
    return msgspec.structs.replace(field, unmarked=True) if lost else field


def _is_record(cls: StateClass) -> bool:
    """No field of it can be an array, by its annotation: `int`, `str | None`, `list[tuple[int, str]]`."""
    words = [set(re.findall(r"[^\W\d]\w*", field.annotation)) for field in cls.fields]
    return bool(words) and all(each <= _OF_RECORDS and each & _SCALARS for each in words)


_SCALARS = frozenset({"int", "float", "bool", "complex", "str", "bytes"})
_OF_RECORDS = _SCALARS | {
    "None",
    "Optional",
    "Union",
    "typing",
    "t",
    "list",
    "List",
    "tuple",
    "Tuple",
    "dict",
    "Dict",
    "set",
    "Set",
}


def _base_name(base: Term) -> str:
    return base.inner.name if base.form == "subscript" and base.inner is not None else base.name


def _strings(term: Term | None) -> frozenset[str]:
    parts = term.parts if term is not None else ()
    return frozenset(part.value.name for part in parts if part.value.form == "string")


_FLAVOURS = {
    flavour.name: flavour for flavour in (flavours.NODE, *flavours.BASES.values(), *flavours.DECORATORS.values())
}
