"""Values that build states: which expressions they are, and what goes into them by path."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from statelint.model.names import Names
from statelint.model.source import Framework, Kind, StateField, StateItem, StateValue
from statelint.source import flavours
from statelint.source.classes import Entry, Known, entries_of
from statelint.source.index import Index
from statelint.source.outline import Outline
from statelint.source.scope import Locate, Scope
from statelint.source.terms import Term


class Context(msgspec.Struct, frozen=True):
    """Where the walk is.

    Attributes:
        place: dotted, with all functions and classes around.
        cls: the class around, dotted.
        init: it is directly in a function that builds the first state.
        traced: what is built here is built while something is traced.
        bound: what the expression is bound to: a name, a key, a keyword.
        returned: the expression is what the function around returns.
        gives: the names that the function returns.
    """

    scope: Scope
    place: str = ""
    cls: str = ""
    init: bool = False
    traced: bool = False
    bound: str = ""
    returned: bool = False
    gives: frozenset[str] = frozenset()


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
    """

    entries: list[Entry]
    known: Known | None
    source: str = ""


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
        if not leaves or any(context.scope.kind(leaf.term)[0] is Kind.STRING for leaf in leaves):
            return None
        if not self._is_named(term, context) and not _is_first(leaves, context):
            return None
        return Draft(term, _SHORT[term.form], leaves, context, None, is_state=True)

    def _is_named(self, term: Term, context: Context) -> bool:
        """A dict that its name, or its keys, tell to be a state."""
        if term.form == "tuple":
            return False
        keys = [part.name for part in term.parts if part.name is not None]
        return self.names.is_state(context.bound) or self.names.is_state_dict(keys)

    def _of_class(self, term: Term, context: Context) -> Draft | None:
        built = self._constructed(term, context) or self._replaced(term, context)
        if built is None:
            return None
        leaves = tuple(
            leaf for name, value, field in built.entries for leaf in self._flatten(value, name, name, field, context)
        )
        is_state = built.known is not None and built.known.cls.is_state
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

    def _class(self, name: str, context: Context) -> Known | None:
        """The pytree class that a name stands for; none when the name is a local value."""
        if not name or name.startswith("."):
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
            named = entries_of({}, term.parts)
            return [(f"[{name!r}]", name, value, None) for name, value, _ in named]
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
        buffers = [scope.buffer(leaf.term) for leaf in draft.leaves]
        shared = [buffer for buffer in buffers if buffer is not None]
        if len(shared) > len(set(shared)):
            return True
        for leaf in draft.leaves:
            kind, _ = scope.kind(leaf.term)
            is_static = leaf.field is not None and leaf.field.static
            if kind.is_number or scope.is_weak(leaf.term) or (is_static and kind is not Kind.UNKNOWN):
                return True
        return False

    def finish(self, draft: Draft, locate: Locate) -> StateValue:
        """The value with its places."""
        scope, read = draft.context.scope, self.outline.text.read
        items = tuple(
            StateItem(
                path=leaf.path,
                name=leaf.name,
                value=scope.express(leaf.term, locate, read),
                field=leaf.field,
                counter=self.names.is_counter(leaf.name),
            )
            for leaf in draft.leaves
        )
        cls = draft.known.cls if draft.known is not None else None
        return StateValue(
            text=draft.text,
            at=locate(draft.term.node),
            items=items,
            cls=cls,
            framework=cls.framework if cls is not None and cls.framework != "jax" else self._framework(),
            is_state=draft.is_state,
            traced=draft.context.traced,
            donates=self.outline.donates,
        )

    def _framework(self) -> Framework:
        """Whose jit a class or dict of no framework goes to; nnx.jit traces its leaves as plain jit does."""
        return "equinox" if self.outline.jits == {"equinox"} else "jax"


def _is_first(leaves: Sequence[Leaf], context: Context) -> bool:
    """The first state: what a function that builds it returns, with an array in it."""
    return context.init and context.returned and any(context.scope.holds_arrays(leaf.term) for leaf in leaves)


_SHORT = {"dict": "{...}", "tuple": "(...)", "call": "dict(...)"}
