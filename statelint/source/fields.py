"""The fields that a class declares: what they hold, their default, whether they are static."""

from __future__ import annotations

import ast

from statelint.diagnostics import Edit, Location, replace
from statelint.model.names import Names
from statelint.model.source import Kind, StateField
from statelint.source import arrays, flavours
from statelint.source.binding import Binding
from statelint.source.declared import FieldOutline
from statelint.source.flavours import Flavour
from statelint.source.outline import Outline
from statelint.source.scope import Scope
from statelint.source.terms import Term, annotation_head, dotted


def module_scope(outline: Outline) -> Scope:
    """The names that a module binds at its top."""

    def bindings() -> dict[str, Binding]:
        return {name: Binding(term) for name, term in outline.constants.items() if name not in outline.imports}

    return Scope("", bindings, outline.absolute, identity=outline.module)


class FieldReader:
    """Reads the fields of one class."""

    def __init__(self, names: Names, outline: Outline, flavour: Flavour) -> None:
        self.names = names
        self.outline = outline
        self.flavour = flavour
        self.scope = module_scope(outline)

    def read(self, field: FieldOutline, listed: frozenset[str]) -> StateField:
        """A field; ``listed`` are those that the registration lists as static."""
        default = self._default(field)
        text = self.outline.text
        expression = None if default is None else self.scope.express(default, text)
        kind = annotation_kind(field.annotation, self.outline)
        return StateField(
            name=field.name,
            at=field.at,
            annotation=text.read(text.at(field.annotation)),
            kind=kind,
            default=expression,
            static=field.name in listed or self._is_marked(field.value) or self._is_static(field.annotation),
            counter=self.names.is_counter(field.name),
            resizes=self.names.is_size(field.name),
            default_keyword=self._default_keyword(field),
            default_factory=self._is_made(field),
            number=text.at(field.annotation) if _is_number(field.annotation) else None,
            as_data=self._as_data(field),
        )

    def is_keyword_only(self, field: FieldOutline) -> bool:
        """Not an argument by position: keyword only, or none at all."""
        call = self._field_call(field.value)
        return call is not None and (is_true(call.keyword("kw_only")) or is_false(call.keyword("init")))

    def _default(self, field: FieldOutline) -> Term | None:
        call = self._field_call(field.value)
        if call is None:
            return field.value
        factory = call.keyword("default_factory")
        if factory is None:
            return call.keyword("default")
        if factory.form == "lambda":
            return factory.parts[0].value
        return Term("call", factory.node, name=factory.name)

    def _is_made(self, field: FieldOutline) -> bool:
        call = self._field_call(field.value)
        return call is not None and call.keyword("default_factory") is not None

    def _default_keyword(self, field: FieldOutline) -> Location | None:
        call = self._field_call(field.value)
        words = call.node.keywords if call is not None else ()
        at = next((self.outline.text.at(word) for word in words if word.arg == "default"), None)
        return at and Location(at.path, at.line, at.column, at.line, at.column + len("default"))

    def _as_data(self, field: FieldOutline) -> tuple[Edit, ...]:
        """The field without its mark, annotated as an array where it was a number."""
        call = self._field_call(field.value)
        mark = _mark_of(call, self.flavour) if call is not None else None
        if call is None or mark is None:
            return ()
        text, node = self.outline.text, call.node
        others = [*node.args, *(word for word in node.keywords if not _is_or_holds(word.value, mark.node))]
        annotation, whole = text.at(field.annotation), text.at(node)
        written = [text.read(text.at(each)) for each in (node.func, *others)]
        is_kept = len(written) == 1 + len(node.args) + len(node.keywords)
        if is_kept or annotation.line != whole.end_line or any("{" in each for each in written):
            return replace(text.at(mark.node), str(not mark.number))
        kept = f" = {written[0]}({', '.join(written[1:])})" if others else ""
        if len(others) == 1 and getattr(others[0], "arg", "") == "default":
            kept = f" = {text.read(text.at(others[0].value))}"
        named = "{jax}.Array" if _is_number(field.annotation) else text.read(annotation)
        at = Location(annotation.path, annotation.line, annotation.column, whole.end_line, whole.end_column)
        return replace(at, f"{named}{kept}")

    def _field_call(self, value: Term | None) -> Term | None:
        if value is None or value.form != "call":
            return None
        last = self.outline.absolute(value.name).rpartition(".")[2]
        return value if "field" in last or "static" in last or self._alias(value) is not None else None

    def _alias(self, call: Term) -> Term | None:
        """`static = partial(struct.field, pytree_node=False)`, called."""
        made = self.outline.constants.get(call.name)
        is_partial = made is not None and self.outline.absolute(made.name) in flavours.PARTIALS
        return made if is_partial else None

    def _is_static(self, annotation: ast.expr) -> bool:
        """`Static[int]`."""
        return self.outline.absolute(annotation_head(annotation)) in flavours.STATIC_ANNOTATIONS

    def _is_marked(self, value: Term | None) -> bool:
        call = self._field_call(value)
        if call is None:
            return False
        if "static" in call.last:
            return True
        alias = self._alias(call)
        return any(_mark_of(each, self.flavour) is not None for each in (call, alias) if each is not None)


def _is_number(annotation: ast.expr) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in ("int", "float")


def _is_or_holds(node: ast.expr, mark: ast.expr) -> bool:
    """`True`, or `dict(static=True)` with nothing else in it."""
    match node:
        case ast.Dict(values=[only]) | ast.Call(args=[], keywords=[ast.keyword(value=only)]):
            return only is mark
    return node is mark


def _mark_of(call: Term, flavour: Flavour) -> Term | None:
    """What says in a call that the field is static."""
    metadata = call.keyword("metadata")
    for keyword, wanted in flavour.static:
        for term in (call.keyword(keyword), metadata.keyword(keyword) if metadata is not None else None):
            if term is not None and term.form == "number" and bool(term.number) is wanted:
                return term
    return None


def annotation_kind(node: ast.expr, outline: Outline) -> Kind:
    """What a field of this annotation holds."""
    match node:
        case ast.Constant(value=None):
            return Kind.NONE
        case ast.Constant(value=str() as quoted):
            return _quoted_kind(quoted, outline)
        case ast.BinOp(op=ast.BitOr(), left=left, right=right):
            return _one_kind([annotation_kind(left, outline), annotation_kind(right, outline)])
        case ast.Subscript(value=value, slice=inner):
            head = outline.absolute(dotted(value))
            items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if head == "typing.Optional":
                return annotation_kind(inner, outline)
            if head == "typing.Union":
                return _one_kind([annotation_kind(item, outline) for item in items])
            if head in _TRANSPARENT or head in arrays.ARRAY_SHAPES:
                return annotation_kind(items[0], outline) if items else Kind.UNKNOWN
            return arrays.ANNOTATIONS.get(head, Kind.UNKNOWN)
        case ast.Name() | ast.Attribute():
            return arrays.ANNOTATIONS.get(outline.absolute(dotted(node)), Kind.UNKNOWN)
    return Kind.UNKNOWN


def _quoted_kind(text: str, outline: Outline) -> Kind:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Kind.UNKNOWN
    return annotation_kind(node, outline)


_TRANSPARENT = flavours.STATIC_ANNOTATIONS | {"typing.Annotated", "typing.Final", "typing_extensions.Annotated"}


def _one_kind(kinds: list[Kind]) -> Kind:
    """Of a union: the one kind besides None."""
    told = {kind for kind in kinds if kind is not Kind.NONE}
    return told.pop() if len(told) == 1 else Kind.UNKNOWN


def is_true(term: Term | None) -> bool:
    """A literal True."""
    return term is not None and term.number is True


def is_false(term: Term | None) -> bool:
    """A literal False."""
    return term is not None and term.number is False
