"""The top-level statements that matter: states built in them, steps that change them."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Set

from msgspec.structs import replace

from statelint.diagnostics import Location
from statelint.model.names import is_expected, is_init, is_state_maker, is_step, is_written
from statelint.model.source import AttributeUpdate, StateValue, StepFunction, SyntaxFault
from statelint.source import afterwards, arrays, flavours
from statelint.source.binding import arguments, bindings
from statelint.source.fields import module_scope
from statelint.source.index import Index
from statelint.source.outline import TOO_DEEP, Outline
from statelint.source.scope import Scope
from statelint.source.terms import Term, from_ast
from statelint.source.tree import Function
from statelint.source.values import Context, Draft, Values
from statelint.source.walking import below

Found = StateValue | StepFunction | SyntaxFault

_Def = ast.FunctionDef | ast.AsyncFunctionDef

_Update = tuple[str, ast.Attribute, Term]
"""An attribute, where it stands as a target, and what it becomes."""


def read(outline: Outline, index: Index, telling: Set[ast.AST]) -> Iterator[Found]:
    """What these nodes build or change; the statements that they stand in are among them."""
    context = Context(module_scope(outline))
    later: dict[str, afterwards.Afterwards] = {}
    for statement in outline.body:
        if statement in telling:
            try:
                yield from _Walk(outline, index, context, telling, later).read(statement)
            except RecursionError:
                yield SyntaxFault(Location(outline.text.path, statement.lineno), TOO_DEEP)


class _Walk:
    """One statement.

    Args:
        later: by scope what becomes of its names; for all statements of the file, since it is read only once.
    """

    def __init__(
        self,
        outline: Outline,
        index: Index,
        context: Context,
        telling: Set[ast.AST],
        later: dict[str, afterwards.Afterwards],
    ) -> None:
        self.outline = outline
        self.telling = telling
        self.names = index.names
        self.values = Values(outline, index)
        self.top = context
        self.later = later
        self.drafts: list[Draft] = []
        self.steps: list[tuple[_Def, list[_Update]]] = []

    def read(self, statement: ast.stmt) -> list[Found]:
        self.stack: list[tuple[ast.AST, Context]] = [(statement, self.top)]
        while self.stack:
            node, context = self.stack.pop()
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    self._function(node, context)
                case ast.Lambda():
                    self._lambda(node, context)
                case ast.ClassDef():
                    place = _join(context.place, node.name)
                    self._below(node, replace(context, place=place, cls=place, init=False))
                case ast.Assign() | ast.AnnAssign():
                    self._assign(node, context)
                case ast.Return(value=ast.expr() as value):
                    self.stack.append((value, replace(context, returned=True, bound="")))
                case ast.Call() | ast.Dict() | ast.Tuple():
                    self._value(node, context)
                case ast.JoinedStr():
                    pass  # what is put into a text is not carried
                case _:
                    self._below(node, context)
        return list(self._parts())

    def _below(self, node: ast.AST, context: Context) -> None:
        if context.bound or context.returned or context.mapped is not None:
            context = replace(context, bound="", returned=False, mapped=None)
        self.stack += [(child, context) for child in below(node) if self._matters(child)]

    def _matters(self, node: ast.AST) -> bool:
        return node in self.telling or not isinstance(node, ast.stmt)

    # Functions.

    def _function(self, node: _Def, context: Context) -> None:
        name = node.name
        params = {each.arg for each in arguments(node)}
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
            draft = self.values.attributes(node, list(_own_attributes(node)), inner)
            if draft is not None and self.values.tells(draft):
                self.drafts.append(draft)
        self.stack += [(each, inner) for each in node.body if each in self.telling]
        self.stack.extend((decorator, context) for decorator in node.decorator_list)
        if self.outline.jitted.get(name) == "flax.nnx" or self._is_called(name, context):
            updates = list(self._updates(node, params))
            if updates:
                self.steps.append((node, updates))

    def _is_called(self, name: str, context: Context) -> bool:
        """What is called of a module of nnx, as a rule inside a step."""
        known = self.values.index.known(self.outline, context.cls) if context.cls else None
        is_nnx = known is not None and known.cls.framework == "flax.nnx"
        return is_nnx and (name == "__call__" or is_step(name)) and context.place == context.cls

    def _is_traced(self, name: str, params: set[str]) -> bool:
        """Given to a jit or a transformation, called like a step, or one that takes a state."""
        return name in self.outline.traced or is_step(name) or any(map(self.names.is_state, params))

    def _lambda(self, node: ast.Lambda, context: Context) -> None:
        scope = self._scope(node, "<lambda>", context)
        self.stack.append((node.body, replace(context, scope=scope, bound="", returned=True)))

    def _scope(self, node: Function, name: str, context: Context) -> Scope:
        identity = f"{context.scope.identity}.{name}@{id(node)}"
        return Scope(
            _join(context.place, name),
            functools.partial(bindings, node),
            self.outline.absolute,
            context.scope,
            identity,
        )

    def _updates(self, node: _Def, params: set[str]) -> Iterator[_Update]:
        stack: list[ast.AST] = [*node.body]
        while stack:
            each = stack.pop()
            match each:
                case ast.Assign(targets=[ast.Attribute() as target], value=value):
                    term = from_ast(value)
                    term = term.parts[0].value if term.form == "choice" else term
                    changed = term.form == "operation" and any(part.value.form == "number" for part in term.parts)
                case ast.AugAssign(target=ast.Attribute() as target, value=value):
                    term = from_ast(value)
                    changed = term.form == "number"
                case _:
                    stack.extend(below(each))
                    continue
            on_param = isinstance(target.value, ast.Name) and target.value.id in params
            if changed and on_param and target.attr not in self.outline.wrapped:
                yield target.attr, target, term

    # Values.

    def _assign(self, node: ast.Assign | ast.AnnAssign, context: Context) -> None:
        if node.value is None:
            return
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and is_expected(target.id):
            return
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        returned = isinstance(target, ast.Name) and name in context.gives
        self.stack.append((node.value, replace(context, bound=name, returned=returned)))

    def _value(self, node: ast.Call | ast.Dict | ast.Tuple, context: Context) -> None:
        if node not in self.telling:
            self._into_parts(node, from_ast(node), context)
            return
        term = self._changed(from_ast(node), context)
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
        self.stack.extend((leaf.term.node, replace(plain, bound=leaf.name)) for leaf in draft.leaves)
        self.stack.extend((part.value.node, plain) for part in term.parts if _untaken(part.value, taken))
        if term.inner is not None:
            self.stack.append((term.inner.node, plain))

    def _into_parts(self, node: ast.expr, term: Term, context: Context) -> None:
        returned = context.returned and term.form == "tuple"
        called = context.scope.absolute(term.name) if term.form == "call" else ""
        written = context.written or (term.form == "call" and is_written(term.last))
        plain = replace(context, bound="", returned=returned, written=written, mapped=None)
        tracing = called in flavours.TRANSFORMS
        over = term.positional if called in arrays.MAPS else ()
        for part in term.parts:
            below = plain
            if len(over) == 2 and part.value is over[1]:
                below = replace(context, mapped=over[0])
            elif tracing:
                below = replace(plain, traced=True)
            elif part.name is not None:
                below = replace(plain, bound=part.name)
            self.stack.append((part.value.node, below))
        if isinstance(node, ast.Call):
            self.stack.append((node.func, plain))

    # Places.

    def _parts(self) -> Iterator[Found]:
        """What was found, with places."""
        text = self.outline.text
        for draft in self.drafts:
            yield self.values.finish(draft)
        for node, updates in self.steps:
            changes = tuple(self._update(update) for update in updates)
            yield StepFunction(name=node.name, at=text.name(node), framework="flax.nnx", updates=changes)

    def _update(self, update: _Update) -> AttributeUpdate:
        name, target, term = update
        value = self.top.scope.express(term, self.outline.text)
        return AttributeUpdate(name, self.outline.text.at(target), value, self.names.is_counter(name))


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _own_attributes(node: _Def) -> Iterator[tuple[str, Term]]:
    """What a method surely sets of its owner: `self.scale = ...`, in its own body."""
    owner = next((each.arg for each in arguments(node)), "")
    for each in node.body:
        match each:
            case (
                ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name), attr=attribute)], value=value)
                | ast.AnnAssign(
                    target=ast.Attribute(value=ast.Name(id=name), attr=attribute), value=ast.expr() as value
                )
            ) if name == owner:
                yield attribute, from_ast(value)


def _untaken(term: Term, taken: set[int]) -> bool:
    """A part in which nothing was taken as an entry."""
    return all(id(each.node) not in taken for each in term.walk())


_NO_STATEMENTS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)


def _returned_names(node: _Def) -> frozenset[str]:
    found: set[str] = set()
    stack: list[ast.AST] = [*node.body]
    while stack:
        each = stack.pop()
        if isinstance(each, ast.Return):
            values = each.value.elts if isinstance(each.value, ast.Tuple) else [each.value]
            found.update(value.id for value in values if isinstance(value, ast.Name))
        elif not isinstance(each, _NO_STATEMENTS):
            stack.extend(below(each))
    return frozenset(found)
