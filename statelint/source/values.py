"""Values that build states: which expressions they are, and what goes into them by path."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import msgspec

from statelint.model.names import Names
from statelint.model.source import Framework, Kind, StateField, StateItem, StateValue
from statelint.source import arrays, flavours
from statelint.source.classes import Entry, Known, entries_of
from statelint.source.index import Index
from statelint.source.likely import may_hold_arrays
from statelint.source.mapping import mapping
from statelint.source.outline import Outline
from statelint.source.scope import Scope
from statelint.source.terms import Term, is_class_name


class Context(msgspec.Struct, frozen=True):
    """Where the walk is.

    Attributes:
        place: dotted, with all functions and classes around.
        cls: the class around, dotted.
        init: it is directly in a function that builds the first state.
        made: of such a function, that its name speaks of nothing but the state.
        traced: what is built here is built while something is traced.
        bound: what the expression is bound to: a name, a key, a keyword.
        returned: the expression is what the function around returns.
        gives: the names that the function returns.
        written: what is built here is written down, not carried.
        mapped: the function that is mapped over the expression.
        replaced: what is given later to the fields of these names.
    """

    scope: Scope
    place: str = ""
    cls: str = ""
    init: bool = False
    made: bool = False
    traced: bool = False
    bound: str = ""
    returned: bool = False
    gives: frozenset[str] = frozenset()
    written: bool = False
    mapped: Term | None = None
    replaced: frozenset[str] = frozenset()


class Leaf(msgspec.Struct, frozen=True):
    """An entry of a value, before its place is known."""

    path: str
    name: str
    term: Term
    field: StateField | None


class Draft(msgspec.Struct, frozen=True):
    """A value that builds a state, before its place is known."""

    term: Term
    text: str
    leaves: tuple[Leaf, ...]
    context: Context
    known: Known | None
    is_state: bool


class Built(msgspec.Struct, frozen=True):
    """A value of a class, by its fields.

    Attributes:
        source: the name of what it was replaced from.
        keyed: the fields are keys of a dict, which is a state.
    """

    entries: list[Entry]
    known: Known | None
    source: str = ""
    keyed: bool = False


class Values:
    """Recognises the values of one file that build states."""

    def __init__(self, outline: Outline, index: Index) -> None:
        self.outline = outline
        self.index = index
        self.names: Names = index.names

    def draft(self, term: Term, context: Context) -> Draft | None:
        """The value that an expression builds, if it builds a state or anything of a pytree class."""
        if term.form == "call" and term.name != "dict":
            return self._of_class(term, context)
        if term.form == "call" and term.positional:
            return None
        leaves = tuple(self._flatten(term, "", "", None, context, top=True))
        if not leaves or context.written:
            return None
        is_first = _is_first(leaves, context)
        if any(context.scope.kind(leaf.term)[0] is Kind.STRING for leaf in leaves) and not (is_first and context.made):
            return None  # a record, unless it is surely a state
        if not is_first and not (self._is_named(term, context) and self._may_hold_arrays(term, leaves, context)):
            return None
        return Draft(term, _SHORT[term.form], leaves, context, None, is_state=True)

    def _is_named(self, term: Term, context: Context) -> bool:
        """A dict that its name, or its keys, tell to be a state."""
        if term.form == "tuple":
            return False
        keys = [part.name for part in term.parts if part.name is not None]
        return self.names.is_state(context.bound) or self.names.is_state_dict(keys)

    def _may_hold_arrays(self, term: Term, leaves: Sequence[Leaf], context: Context) -> bool:
        """Something in it, or in what is unpacked into it; NumPy arrays among Python values are the host's own."""
        kinds = [context.scope.kind(leaf.term)[0] for leaf in leaves]
        if Kind.NUMPY in kinds and all(kind is Kind.NUMPY or kind in _PLAIN for kind in kinds):
            return False
        entries = [(leaf.name, leaf.term) for leaf in leaves]
        entries += [("", part.value) for part in term.parts if part.starred]
        return any(may_hold_arrays(name, each, context.scope, self.names) for name, each in entries)

    def _of_class(self, term: Term, context: Context) -> Draft | None:
        made = self._constructed(term, context)
        built = made or self._replaced(term, context) or self._given(term, context)
        if built is None:
            return None
        replaced = context.replaced if made is not None else frozenset()
        leaves = tuple(
            leaf
            for name, value, field in built.entries
            if name not in replaced
            for leaf in self._flatten(value, f"[{name!r}]" if built.keyed else name, name, field, context)
        )
        is_state = built.keyed or (built.known is not None and built.known.cls.is_state)
        is_state = is_state or self.names.is_state(built.source) or self.names.is_state(context.bound)
        is_state = is_state or _is_first(leaves, context)
        return Draft(term, term.name.lstrip("."), leaves, context, built.known, is_state)

    def _constructed(self, term: Term, context: Context) -> Built | None:
        """`Cls(...)`, or flax's `Cls.create(...)`."""
        known = self._class(term.name, context)
        if known is not None:
            return Built(known.entries(term.positional, term.parts), known) if known.constructor else None
        known = self._class(term.name.removesuffix(".create"), context) if term.last == "create" else None
        return Built(known.entries((), term.parts), known) if known is not None and known.creates else None

    def _replaced(self, term: Term, context: Context) -> Built | None:
        """`x.replace(...)`, `x._replace(...)`, `replace(x, ...)`: the fields that are named."""
        if context.scope.absolute(term.name) in flavours.REPLACE_FUNCTIONS:
            source = term.positional[0] if term.positional else None
        else:
            source = term.inner if term.last in flavours.REPLACE_METHODS else None
        if source is None or not any(part.name for part in term.parts):
            return None
        known = self._class_of(source, context)
        entries = entries_of({} if known is None else known.by_name, term.parts)
        return Built(entries, known, source.last if source.form == "name" else "")

    def _given(self, term: Term, context: Context) -> Built | None:
        """`eqx.tree_at(where, x, value)`, `eqx.nn.StateIndex(value)`, `hk.set_state(name, value)`."""
        name = context.scope.absolute(term.name)
        if name in flavours.TREE_AT:
            return self._put(term, context)
        if name in flavours.STATE_INDEXES:
            value = term.argument(0, "init")
            return Built([("init", value, None)], None) if value is not None else None
        if name not in flavours.HAIKU_STATES:
            return None
        key, value = term.argument(0, "name"), term.argument(*flavours.HAIKU_STATES[name])
        if name == "haiku.get_state":
            value = value.parts[0].value if value is not None and value.form == "lambda" else None
        is_told = key is not None and key.form == "string" and value is not None
        return Built([(key.name, value, None)], None, keyed=True) if is_told and key and value else None

    def _put(self, term: Term, context: Context) -> Built | None:
        where, source, value = (term.argument(at, word) for at, word in enumerate(("where", "pytree", "replace")))
        if where is None or source is None or value is None or where.form != "lambda" or not where.name:
            return None
        known = self._class_of(source, context)
        places = _elements(where.parts[0].value)
        values = _elements(value) if len(places) > 1 else [value]
        entries = [
            (place.name.partition(".")[2], given, known.by_name.get(place.name.partition(".")[2]) if known else None)
            for place, given in zip(places, values, strict=False)
            if place.form == "name" and place.name.startswith(f"{where.name}.")
        ]
        return Built(entries, known, source.last if source.form == "name" else "") if entries else None

    def is_kept(self, term: Term, context: Context) -> bool:
        """A call that puts a leaf into a state wherever it stands, in a trace too."""
        return term.form == "call" and context.scope.absolute(term.name) in flavours.HAIKU_STATES

    def attributes(self, node: ast.AST, settings: Sequence[tuple[str, Term]], context: Context) -> Draft | None:
        """What a constructor of a pytree class sets: `self.scale = ...`."""
        known = self.index.known(self.outline, context.cls) if context.cls else None
        if known is None:
            return None
        fields = known.by_name
        if known.cls.framework == "flax.nnx":
            held = [(name, term.argument(0, "value")) for name, term in settings if self._is_variable(term, context)]
            leaves = [Leaf(name, name, value, None) for name, value in held if value is not None]
        else:
            leaves = [Leaf(name, name, term, fields[name]) for name, term in settings if name in fields]
        term = Term("other", node)
        is_nnx = known.cls.framework == "flax.nnx"
        return Draft(term, known.cls.short_name, tuple(leaves), context, None if is_nnx else known, known.cls.is_state)

    def _is_variable(self, term: Term, context: Context) -> bool:
        return term.form == "call" and context.scope.absolute(term.name) in flavours.NNX_VARIABLES

    def _class(self, name: str, context: Context) -> Known | None:
        """The pytree class that a name stands for; none when the name is a local value."""
        if not name or name.startswith(".") or not is_class_name(name):
            return None
        if name == "cls" and context.cls:
            return self.index.known(self.outline, context.cls)
        found = context.scope.find(name.partition(".")[0])
        is_local = found is not None and found[1].parent is not None
        if is_local and self.outline.find_class(name, context.place) is None:
            return None
        return self.index.known(self.outline, name, context.place)

    def _class_of(self, term: Term, context: Context) -> Known | None:
        """The pytree class of a value."""
        if term.form == "name" and term.name == "self" and context.cls:
            return self.index.known(self.outline, context.cls)
        if term.form == "name":
            found = context.scope.find(term.name)
            if found is not None and found[0].annotation:
                return self.index.known(self.outline, found[0].annotation, context.place)
            term, _ = context.scope.follow(term)
        built = self._constructed(term, context) if term.form == "call" else None
        return built.known if built is not None else None

    def _flatten(
        self,
        term: Term,
        path: str,
        name: str,
        field: StateField | None,
        context: Context,
        *,
        top: bool = False,
    ) -> Iterator[Leaf]:
        """The entries of nested literals and calls, each with its path."""
        opened = None if field is not None and field.static else self._opened(term, context, top=top)
        if opened is None:
            if not top:
                yield Leaf(path, name, term, field)
            return
        for step, inner, value, its_field in opened:
            yield from self._flatten(value, f"{path}{step}", inner, its_field, context)

    def _opened(
        self, term: Term, context: Context, *, top: bool
    ) -> list[tuple[str, str, Term, StateField | None]] | None:
        """One level of a literal or of a call of a pytree class; None for what is a leaf, so far."""
        if not top and not term.parts:
            return None
        is_dict = term.form == "dict" or (term.form == "call" and term.name == "dict" and not term.positional)
        if is_dict and all(part.name is not None or part.starred for part in term.parts):
            last = {name: value for name, value, _ in entries_of({}, term.parts)}
            return [(f"[{name!r}]", name, value, None) for name, value in last.items()]
        if term.form in ("tuple", "list") and not term.starred:
            return [(f"[{at}]", "", part.value, None) for at, part in enumerate(term.parts)]
        if term.form == "call" and not top:
            built = self._constructed(term, context)
            if built is not None and built.known is not None and built.known.cls.framework == "jax":
                return [(f".{name}", name, value, field) for name, value, field in built.entries]
        return None

    def tells(self, draft: Draft) -> bool:
        """Some rule may speak of it; no other's places are looked up, since that costs as much as a parse."""
        scope = draft.context.scope
        if any(self._refused(leaf.term, draft.context) for leaf in draft.leaves):
            return True
        buffers = [scope.buffer(leaf.term) for leaf in draft.leaves]
        shared = [buffer for buffer in buffers if buffer is not None]
        if len(shared) > len(set(shared)):
            return True
        for leaf in draft.leaves:
            kind, _ = scope.kind(leaf.term)
            is_static = leaf.field is not None and leaf.field.static
            if kind.is_number or scope.is_weak(leaf.term) or (is_static and kind is not Kind.UNKNOWN):
                return True
            if scope.fresh(leaf.term) is not None:
                return True
        return False

    def finish(self, draft: Draft) -> StateValue:
        """The value with its places."""
        scope, text = draft.context.scope, self.outline.text
        node = draft.term.node
        at = text.name(node) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else text.at(node)
        change = mapping(draft.context.mapped, scope)
        items = tuple(
            StateItem(
                path=leaf.path,
                name=leaf.name,
                value=msgspec.structs.replace(
                    change(scope.express(leaf.term, text)), refused=self._refused(leaf.term, draft.context)
                ),
                field=leaf.field,
                counter=self.names.is_counter(leaf.name),
            )
            for leaf in draft.leaves
        )
        cls = draft.known.cls if draft.known is not None else None
        return StateValue(
            text=draft.text,
            at=at,
            items=items,
            cls=cls,
            framework=cls.framework if cls is not None and cls.framework != "jax" else self._framework(),
            is_state=draft.is_state,
            traced=draft.context.traced,
            donates=self.outline.donates,
        )

    def _refused(self, term: Term, context: Context) -> str:
        """What a leaf is, in the words of a message, where jit takes no such thing."""
        meant, scope = context.scope.follow(term)
        kind, _ = scope.kind(meant)
        if kind in (Kind.STRING, Kind.SET):
            return f"the {kind.value}"
        if meant.form != "call" or not meant.name or meant.name.startswith("."):
            return ""
        name = scope.absolute(meant.name)
        if name in arrays.NO_CONTAINERS:
            return f"the {name.rpartition('.')[2]}"
        return self.index.stranger(self.outline, meant.name, context.place) if name else ""

    def _framework(self) -> Framework:
        """Whose jit a class or dict of no framework goes to; nnx.jit traces its leaves as plain jit does."""
        return "equinox" if self.outline.jits == {"equinox"} else "jax"


def _is_first(leaves: Sequence[Leaf], context: Context) -> bool:
    """The first state: what a function that builds it returns, with an array in it."""
    return context.init and context.returned and any(context.scope.holds_arrays(leaf.term) for leaf in leaves)


def _elements(term: Term) -> list[Term]:
    return [part.value for part in term.parts] if term.form in ("tuple", "list") else [term]


_SHORT = {"dict": "{...}", "tuple": "(...)", "call": "dict(...)"}


_PLAIN = (Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.COMPLEX, Kind.STRING, Kind.NONE)
