"""The top-level statements that matter, read by LibCST: states built in them, steps that change them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
from msgspec.structs import replace

from statelint.diagnostics import Location
from statelint.model.names import is_expected, is_init, is_state_maker, is_step, is_written
from statelint.model.source import AttributeUpdate, StateValue, StepFunction, SyntaxFault
from statelint.source import afterwards, arrays, flavours
from statelint.source.binding import bindings, parameters
from statelint.source.concrete import children, from_cst, locator
from statelint.source.fields import module_scope
from statelint.source.index import Index
from statelint.source.outline import TOO_DEEP, Outline, Statement
from statelint.source.scope import Locate, Scope
from statelint.source.terms import Term
from statelint.source.values import Context, Draft, Values

Found = StateValue | StepFunction | SyntaxFault

_Update = tuple[str, cst.CSTNode, Term]
"""An attribute, where it stands as a target, and what it becomes."""


def read(outline: Outline, index: Index, statements: Sequence[Statement]) -> Iterator[Found]:
    """What stands in these statements."""
    scope = module_scope(outline)
    for statement in statements:
        try:
            module = cst.parse_module(outline.text.segment(statement.first, statement.last))
        except cst.ParserSyntaxError as error:
            at = Location(outline.text.path, statement.first + error.raw_line - 1, error.raw_column + 1)
            yield SyntaxFault(at, f"cannot be read: {error.message}")
            continue
        try:
            yield from _parts(_Walk(outline, index, Context(scope)), module, statement.first)
        except RecursionError:
            yield SyntaxFault(Location(outline.text.path, statement.first), TOO_DEEP)


def _parts(walk: _Walk, module: cst.Module, first: int) -> list[Found]:
    walk.walk(module)
    if not walk.drafts and not walk.steps:
        return []
    return list(walk.parts(locator(module, walk.outline.text.path, first)))


class _Walk:
    """One statement."""

    def __init__(self, outline: Outline, index: Index, context: Context) -> None:
        self.outline = outline
        self.names = index.names
        self.values = Values(outline, index)
        self.top = context
        self.later: dict[str, afterwards.Afterwards] = {}
        self.drafts: list[Draft] = []
        self.steps: list[tuple[cst.FunctionDef, list[_Update]]] = []

    def walk(self, module: cst.Module) -> None:
        self.stack: list[tuple[cst.CSTNode, Context]] = [(module, self.top)]
        while self.stack:
            node, context = self.stack.pop()
            match node:
                case cst.FunctionDef():
                    self._function(node, context)
                case cst.Lambda():
                    self._lambda(node, context)
                case cst.ClassDef():
                    place = _join(context.place, node.name.value)
                    self._below(node, replace(context, place=place, cls=place, init=False))
                case cst.Assign() | cst.AnnAssign():
                    self._assign(node, context)
                case cst.Return(value=cst.BaseExpression() as value):
                    self.stack.append((value, replace(context, returned=True, bound="")))
                case cst.Call() | cst.Dict() | cst.Tuple():
                    self._value(node, context)
                case _:
                    self._below(node, context)

    def _below(self, node: cst.CSTNode, context: Context) -> None:
        if context.bound or context.returned or context.mapped is not None:
            context = replace(context, bound="", returned=False, mapped=None)
        self.stack.extend((child, context) for child in children(node))

    # Functions.

    def _function(self, node: cst.FunctionDef, context: Context) -> None:
        name = node.name.value
        params = parameters(node)
        inner = Context(
            scope=self._scope(node, name, context),
            place=_join(context.place, name),
            cls=context.cls,
            init=is_init(name),
            traced=context.traced or self._is_traced(name, params),
            gives=_returned_names(node),
            written=context.written or is_written(name),
            made=is_state_maker(name),
        )
        if name == "__init__" and context.place == context.cls:
            draft = self.values.attributes(node.name, list(_own_attributes(node)), inner)
            if draft is not None and self.values.tells(draft):
                self.drafts.append(draft)
        self._below(node.body, inner)
        self.stack.extend((decorator, context) for decorator in node.decorators)
        if self.outline.jitted.get(name) == "flax.nnx" or self._is_called(name, context):
            updates = list(self._updates(node, {param.name.value for param in params}))
            if updates:
                self.steps.append((node, updates))

    def _is_called(self, name: str, context: Context) -> bool:
        """What is called of a module of nnx, as a rule inside a step."""
        known = self.values.index.known(self.outline, context.cls) if context.cls else None
        is_nnx = known is not None and known.cls.framework == "flax.nnx"
        return is_nnx and (name == "__call__" or is_step(name)) and context.place == context.cls

    def _is_traced(self, name: str, params: Sequence[cst.Param]) -> bool:
        """Given to a jit or a transformation, called like a step, or one that takes a state."""
        takes_state = any(self.names.is_state(param.name.value) for param in params)
        return takes_state or name in self.outline.traced or is_step(name)

    def _lambda(self, node: cst.Lambda, context: Context) -> None:
        scope = self._scope(node, "<lambda>", context)
        self.stack.append((node.body, replace(context, scope=scope, bound="", returned=True)))

    def _scope(self, node: cst.FunctionDef | cst.Lambda, name: str, context: Context) -> Scope:
        identity = f"{context.scope.identity}.{name}@{id(node)}"
        return Scope(_join(context.place, name), bindings(node), self.outline.absolute, context.scope, identity)

    def _updates(self, node: cst.FunctionDef, params: set[str]) -> Iterator[_Update]:
        stack: list[cst.CSTNode] = [node.body]
        while stack:
            each = stack.pop()
            match each:
                case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute() as target)], value=value):
                    term = from_cst(value)
                    term = term.parts[0].value if term.form == "choice" else term
                    changed = term.form == "operation" and any(part.value.form == "number" for part in term.parts)
                case cst.AugAssign(target=cst.Attribute() as target, value=value):
                    term = from_cst(value)
                    changed = term.form == "number"
                case _:
                    stack.extend(children(each))
                    continue
            attribute, owner = target.attr.value, target.value
            on_param = isinstance(owner, cst.Name) and owner.value in params
            if changed and on_param and attribute not in self.outline.wrapped:
                yield attribute, target, term

    # Values.

    def _assign(self, node: cst.Assign | cst.AnnAssign, context: Context) -> None:
        if node.value is None:
            return
        target = node.targets[0].target if isinstance(node, cst.Assign) else node.target
        if isinstance(target, cst.Name) and is_expected(target.value):
            return
        bound = target.attr if isinstance(target, cst.Attribute) else target
        name = bound.value if isinstance(bound, cst.Name) else ""
        returned = isinstance(target, cst.Name) and name in context.gives
        self.stack.append((node.value, replace(context, bound=name, returned=returned)))

    def _value(self, node: cst.Call | cst.Dict | cst.Tuple, context: Context) -> None:
        term = self._changed(from_cst(node), context)
        leaves = self._leaves(context) or self.values.is_kept(term, context)
        draft = self.values.draft(term, self._later(context)) if leaves else None
        if draft is not None:
            if self.values.tells(draft):
                self.drafts.append(draft)
            self._into_leaves(term, draft, context)
        else:
            self._into_parts(node, term, context)

    def _leaves(self, context: Context) -> bool:
        """It gets out of the trace it is built in; the first carry of a loop never does."""
        carried = (context.place, context.bound) in self.outline.carried
        return not carried and (context.returned or not context.traced)

    def _changed(self, term: Term, context: Context) -> Term:
        """A dict with what its name is given later."""
        is_dict = term.form == "dict" or (term.form == "call" and term.name == "dict")
        return self._afterwards(context).changed(context.bound, term) if is_dict and context.bound else term

    def _later(self, context: Context) -> Context:
        """What becomes of the value under the name that it is bound to."""
        if not context.bound:
            return context
        later = self._afterwards(context)
        unsaid = not self.names.is_state(context.bound) and (
            context.bound in later.written or is_written(context.bound)
        )
        return replace(
            context,
            mapped=later.mapped.get(context.bound, context.mapped),
            written=context.written or unsaid,
            replaced=frozenset(later.parts.get(context.bound, ())),
        )

    def _afterwards(self, context: Context) -> afterwards.Afterwards:
        """What becomes of the names of the scope around."""
        place = context.place
        if place not in self.later:
            function = self.outline.defined.get(place)
            body = self.outline.body if not place else function.body if function is not None else []
            self.later[place] = afterwards.read(body, self.outline.absolute)
        return self.later[place]

    def _into_leaves(self, term: Term, draft: Draft, context: Context) -> None:
        plain = replace(context, bound="", returned=False, mapped=None)
        taken = {id(leaf.term.node) for leaf in draft.leaves}
        given = [leaf for leaf in draft.leaves if isinstance(leaf.term.node, cst.CSTNode)]
        rest = [part.value for part in term.parts if isinstance(part.value.node, cst.CSTNode)]
        self.stack.extend((leaf.term.node, replace(plain, bound=leaf.name)) for leaf in given)
        self.stack.extend((each.node, plain) for each in rest if _untaken(each, taken))
        if term.inner is not None:
            self.stack.append((term.inner.node, plain))

    def _into_parts(self, node: cst.Call | cst.Dict | cst.Tuple, term: Term, context: Context) -> None:
        returned = context.returned and term.form == "tuple"
        called = context.scope.absolute(term.name) if term.form == "call" else ""
        written = context.written or (term.form == "call" and is_written(term.last))
        plain = replace(context, bound="", returned=returned, written=written, mapped=None)
        tracing = called in flavours.TRANSFORMS
        over = term.positional if called in arrays.MAPS else ()
        for part in term.parts:
            below = plain
            if not isinstance(part.value.node, cst.CSTNode):
                continue
            if len(over) == 2 and part.value is over[1]:
                below = replace(context, mapped=over[0])
            elif tracing:
                below = replace(plain, traced=True)
            elif part.name is not None:
                below = replace(plain, bound=part.name)
            self.stack.append((part.value.node, below))
        if isinstance(node, cst.Call):
            self.stack.append((node.func, plain))

    # Places.

    def parts(self, locate: Locate) -> Iterator[Found]:
        """What was found, with places."""
        for draft in self.drafts:
            yield self.values.finish(draft, locate)
        for node, updates in self.steps:
            yield StepFunction(
                name=node.name.value,
                at=locate(node.name),
                framework="flax.nnx",
                updates=tuple(self._update(update, locate) for update in updates),
            )

    def _update(self, update: _Update, locate: Locate) -> AttributeUpdate:
        name, target, term = update
        value = self.top.scope.express(term, locate, self.outline.text.read)
        return AttributeUpdate(name, locate(target), value, self.names.is_counter(name))


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _own_attributes(node: cst.FunctionDef) -> Iterator[tuple[str, Term]]:
    """What a method surely sets of its owner: `self.scale = ...`, in its own body."""
    owner = next((param.name.value for param in parameters(node)), "")
    for line in node.body.body:
        for each in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            match each:
                case (
                    cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute() as target)], value=value)
                    | cst.AnnAssign(target=cst.Attribute() as target, value=cst.BaseExpression() as value)
                ):
                    if isinstance(target.value, cst.Name) and target.value.value == owner:
                        yield target.attr.value, from_cst(value)


def _untaken(term: Term, taken: set[int]) -> bool:
    """A part in which nothing was taken as an entry."""
    return all(id(each.node) not in taken for each in term.walk())


def _returned_names(node: cst.FunctionDef) -> frozenset[str]:
    found: set[str] = set()
    stack: list[cst.CSTNode] = [node.body]
    while stack:
        each = stack.pop()
        if isinstance(each, cst.Return):
            given = each.value
            values = [item.value for item in given.elements] if isinstance(given, cst.Tuple) else [given]
            found.update(value.value for value in values if isinstance(value, cst.Name))
        elif not isinstance(each, cst.FunctionDef | cst.ClassDef | cst.BaseExpression):
            stack.extend(children(each))
    return frozenset(found)
