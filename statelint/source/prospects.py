"""Which functions are worth a run: those in which a step may meet a state, and those that call them.

Nothing comes of running a function that runs no loop, defines no step and hands no function on.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from statelint.model.names import CARRIES, Names, is_init, is_step
from statelint.source import flavours
from statelint.source.outline import Outline
from statelint.source.symbols import Environment, Function, Value
from statelint.source.terms import dotted
from statelint.source.walking import FIELDS, WITH_NAMES, below

_LAMBDA = "<lambda>"
_LOOPS = frozenset(name.rpartition(".")[2] for name in (*flavours.LOOPS, *flavours.PROBES))
_OWNERS = ("self", "cls")
_JITS = frozenset(name.rpartition(".")[2] for name in flavours.JITS)


class _Call(msgspec.Struct, frozen=True):
    """A call: what is called, the names and lambdas that it is given, and whether it gives one of them anew."""

    owner: str
    last: str
    given: tuple[str, ...]
    is_turn: bool = False


class _Mentions(msgspec.Struct, frozen=True):
    """What a function's body says.

    Attributes:
        kept: names, and lambdas, that are neither called nor given to a call.
        beside: names, and lambdas, that may stand in a tuple.
        inner: functions that are defined in it.
    """

    kept: set[str]
    beside: set[str]
    calls: list[_Call]
    inner: dict[str, ast.FunctionDef]


class _View(msgspec.Struct, frozen=True):
    """A function, and what its names stand for."""

    node: ast.FunctionDef | ast.Lambda
    around: Environment
    cls: str
    local: Mapping[str, ast.FunctionDef]

    def function(self, name: str) -> _View | None:
        """The function of this file that a name stands for."""
        if name in self.local:
            return _View(self.local[name], self.around, self.cls, self.local)
        value = self.around.get(name)
        return _view(value.function) if value is not None and value.function is not None else None

    def holds(self, name: str, suits: Callable[[str], bool] = lambda name: True) -> bool:
        """Whether it stands for a function whose name suits, or for something with one in it."""
        if name == _LAMBDA or name in self.local:
            return suits(name)
        value = self.around.get(name)
        return value is not None and _holds(value, suits)


def _view(function: Function) -> _View:
    return _View(function.node, function.around, function.cls, {})


class Prospects:
    """Answers for one file."""

    def __init__(self, outline: Outline, names: Names) -> None:
        self.outline = outline
        self.names = names
        self._has_keys = "random" in outline.text.content
        self._known: dict[ast.AST, _Mentions] = {}

    def is_worth(self, function: Function) -> bool:
        """Whether a step may meet a state in a run of a function."""
        seen: set[ast.AST] = set()
        stack = [_view(function)]
        while stack:
            view = stack.pop()
            if view.node not in seen:
                seen.add(view.node)
                if view.node not in self._known:
                    self._known[view.node] = _mentions(view.node)
                mentions = self._known[view.node]
                view = msgspec.structs.replace(view, local={**view.local, **mentions.inner})
                if self._tells(mentions, view):
                    return True
                stack += self._reached(mentions, view)
        return False

    def _tells(self, mentions: _Mentions, view: _View) -> bool:
        if any(self._may_step(node, mentions.inner) for node in mentions.inner.values()):
            return True
        if any(view.holds(name) for name in mentions.beside):
            return True
        if any(view.holds(name, self._is_stepped) for name in mentions.kept):
            return True
        return any(self._pairs(call, view) for call in mentions.calls)

    def _may_step(self, node: ast.FunctionDef, beside: Iterable[str]) -> bool:
        """Called like a step, with a parameter that may be a state: a known one, or one with keys."""
        if not is_step(node.name):
            return False
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if any(each.annotation is not None for each in given):
            return True
        named = any(self.names.is_state(each.arg) for each in given) or (bool(given) and given[0].arg in CARRIES)
        return named and (self._has_keys or any(map(is_init, beside)))

    def _pairs(self, call: _Call, view: _View) -> bool:
        """A loop, a step with its init, a step whose result is its argument, or a function that goes elsewhere."""
        if call.last in _LOOPS:
            return True
        called = self._called(call, view)
        if called is not None or call.last in _JITS:
            is_step_here = called is not None and self._is_stepped(_name(called))
            return (call.is_turn and is_step_here) or any(view.holds(name, self._is_stepped) for name in call.given)
        names = [_name(function) for each in call.given if (function := view.function(each)) is not None]
        return any(map(is_step, names)) and any(map(is_init, names))

    def _is_stepped(self, name: str) -> bool:
        """What is called so may be run again and again with what it gives."""
        return is_step(name) or name in self.outline.jitted

    def _reached(self, mentions: _Mentions, view: _View) -> Iterator[_View]:
        yield from (_View(node, view.around, view.cls, view.local) for node in mentions.inner.values())
        for call in mentions.calls:
            called = self._called(call, view)
            if called is not None:
                yield called

    def _called(self, call: _Call, view: _View) -> _View | None:
        """The function or method of this file that is called."""
        if call.owner in _OWNERS and view.cls:
            method = self.outline.defined.get(f"{view.cls}.{call.last}")
            return _View(method, view.around, view.cls, {}) if method is not None else None
        return view.function(call.last) if not call.owner else None


def _name(view: _View) -> str:
    return _LAMBDA if isinstance(view.node, ast.Lambda) else view.node.name


def _holds(value: Value, suits: Callable[[str], bool]) -> bool:
    if value.function is not None:
        return suits(value.function.name)
    return any(_holds(item, suits) for item in value.items.values())


def _mentions(node: ast.FunctionDef | ast.Lambda) -> _Mentions:
    found = _Mentions(set(), set(), [], {})
    stack: list[ast.AST] = [node.body] if isinstance(node, ast.Lambda) else [*node.body]
    turns: dict[ast.AST, set[str]] = {}
    while stack:
        each: Any = _root(stack.pop())
        kind = type(each)
        if kind is ast.Name:
            found.kept.add(each.id)
        elif kind is ast.Call:
            _call(each, found, turns, stack)
        elif kind is ast.FunctionDef:
            found.inner[each.name] = each
            stack += [*each.decorator_list, *below(each.args, WITH_NAMES)]
        else:
            if kind is ast.Tuple:
                found.beside.update(_LAMBDA if isinstance(item, ast.Lambda) else dotted(item) for item in each.elts)
            elif kind is ast.Assign and type(each.value) is ast.Call:
                turns[each.value] = _targets(each)
            elif kind is ast.Assign and type(each.value) is ast.Lambda:
                found.beside.add(_LAMBDA)  # the name that it is given may stand in one
            for name in FIELDS[kind]:
                child = getattr(each, name)
                if type(child) is list:
                    stack += [inner for inner in child if type(inner) in WITH_NAMES]
                elif type(child) in WITH_NAMES:
                    stack.append(child)
    return found


def _root(node: ast.AST) -> ast.AST:
    """What attributes are taken of."""
    while type(node) is ast.Attribute:
        node = node.value
    return node


def _call(node: ast.Call, found: _Mentions, turns: Mapping[ast.AST, set[str]], stack: list[ast.AST]) -> None:
    """Note a call of which something may come; what of it is left to be read goes onto the stack."""
    owner, last, func = "", "", node.func
    if isinstance(func, ast.Name):
        last = func.id
    else:
        root = _root(func)
        stack.append(root)
        if isinstance(root, ast.Name) and isinstance(func, ast.Attribute):
            owner, last = dotted(func.value), func.attr
    given: list[str] = []
    arguments: list[Any] = [*node.args, *[word.value for word in node.keywords]]
    for each in arguments:
        kind = type(each)
        if kind is ast.Name:
            given.append(each.id)
        elif kind is ast.Lambda:
            given.append(_LAMBDA)
            stack += below(each, WITH_NAMES)
        elif kind in WITH_NAMES:
            stack.append(each)
    if given or not owner or owner in _OWNERS or last in _LOOPS:
        is_turn = node in turns and not turns[node].isdisjoint(given)
        found.calls.append(_Call(owner, last, tuple(given), is_turn))


def _targets(node: ast.Assign) -> set[str]:
    target = node.targets[0]
    elements = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    return {each.id for each in elements if isinstance(each, ast.Name)}
