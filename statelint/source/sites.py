"""Jit sites: where a function is jitted, with what options, and which calls go to it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from statelint.model.source import Framework
from statelint.source import flavours
from statelint.source.outline import Outline
from statelint.source.terms import dotted
from statelint.source.tree import Binding, Function, Tree, parameters
from statelint.source.walking import WITH_NAMES, below

Def = ast.FunctionDef | ast.AsyncFunctionDef

MAX_STEPS = 4
"""A name is followed no further than this, from one name to the next."""

_EQUINOX_DONATES = ("all", "warn", "all-except-first", "warn-except-first")


class Selection(msgspec.Struct, frozen=True):
    """Arguments that a jit is told of: by number, by name, or all from some position on."""

    numbers: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()
    onwards: int | None = None

    def holds(self, position: int | None, name: str | None, known: list[str] | None) -> bool:
        """Whether an argument at this position, or of this name, is meant; as far as the parameters are known."""
        if known is not None:
            if position is None and name in known:
                position = known.index(name)
            elif name is None and position is not None and position < len(known):
                name = known[position]
        last = len(known) if known is not None else 0
        numbers = {number + last if number < 0 else number for number in self.numbers}
        if self.onwards is not None:
            return position is None or position >= self.onwards
        return position in numbers or name in self.names


class Jit(msgspec.Struct, frozen=True, eq=False):
    """One jit expression: a call, or a decorator.

    Attributes:
        wrapped: what is jitted: an expression, or the function that is decorated.
        options: its keywords, those of a `partial` around it too.
    """

    node: ast.expr
    spelling: str
    absolute: str
    wrapped: ast.expr | Def
    options: dict[str, ast.expr]

    @property
    def framework(self) -> Framework:
        """Whose jit it is."""
        return flavours.JITS[self.absolute]


class Argument(msgspec.Struct, frozen=True, eq=False):
    """An argument of a call, with the parameter it goes to, as far as that is known."""

    node: ast.expr
    position: int | None
    parameter: str


class JitCall(msgspec.Struct, frozen=True, eq=False):
    """A call of a jitted function of this file."""

    node: ast.Call
    jit: Jit
    function: str
    donated: tuple[Argument, ...]
    static: tuple[Argument, ...]


class Sites:
    """The jit sites of one file."""

    def __init__(self, outline: Outline, tree: Tree) -> None:
        self.outline = outline
        self.tree = tree
        self.jits: list[Jit] = []
        self.calls: list[ast.Call] = []
        self.by_node: dict[ast.AST, Jit] = {}
        self.assigned: dict[tuple[ast.ClassDef, str], list[ast.expr]] = {}
        self._named = {name for name, value in _assignments(tree) if self._is_partial(value)}
        for node in tree.nodes:
            kind = type(node)
            if kind in _FINDS:
                _FINDS[kind](self, node)

    def absolute(self, node: ast.expr) -> str:
        """The dotted name of an expression, from the root of its package."""
        name = dotted(node)
        return self.outline.absolute(name) if name else ""

    # Finding them.

    def _decorated(self, node: Def) -> None:
        for decorator in node.decorator_list:
            made = self._maker(decorator)
            if made is not None:
                self._add(Jit(decorator, *made[:2], node, made[2]), node)

    def _called(self, node: ast.Call) -> None:
        self.calls.append(node)
        if not node.args or isinstance(node.args[0], ast.Starred):
            return
        made = self._maker(node.func)
        if made is not None:
            spelling, absolute, options = made
            self._add(Jit(node, spelling, absolute, node.args[0], {**options, **_keywords(node)}), node)

    def _maker(self, node: ast.expr, depth: int = 0) -> tuple[str, str, dict[str, ast.expr]] | None:
        """What is still to be given a function: `jit`, `jit(donate_argnums=0)`, `partial(jit, ...)`, a name of one."""
        absolute = self.absolute(node)
        if absolute in flavours.JITS:
            return dotted(node), absolute, {}
        if isinstance(node, ast.Call):
            is_partial = self.absolute(node.func) in flavours.PARTIALS and len(node.args) == 1
            inner = node.args[0] if is_partial else node.func if not node.args else None
            made = self._maker(inner, depth) if inner is not None else None
            return (made[0], made[1], {**made[2], **_keywords(node)}) if made is not None else None
        if isinstance(node, ast.Name) and node.id in self._named and depth < MAX_STEPS:
            value = self.tree.value(node.id, node)
            return self._maker(value, depth + 1) if value is not None else None
        return None

    def _is_partial(self, value: ast.expr) -> bool:
        absolute = self.absolute(value.func if isinstance(value, ast.Call) else value)
        return absolute in flavours.PARTIALS or absolute in flavours.JITS

    def _add(self, jit: Jit, node: ast.AST) -> None:
        self.jits.append(jit)
        self.by_node.setdefault(node, jit)

    def _assigned(self, node: ast.Assign | ast.AnnAssign) -> None:
        if node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._attribute(target, node.value)

    def _attribute(self, target: ast.expr, value: ast.expr) -> None:
        """`self.step = ...`"""
        cls = self.tree.cls(target) if isinstance(target, ast.Attribute) and dotted(target.value) == "self" else None
        if cls is not None and isinstance(target, ast.Attribute):
            self.assigned.setdefault((cls, target.attr), []).append(value)

    # What stands for a function.

    def owner(self, node: ast.expr) -> ast.ClassDef | None:
        """The class of this file that a value is an instance of: `self`, a name, or a call of the class."""
        if isinstance(node, ast.Name):
            if node.id == "self":
                return self.tree.cls(node)
            value = self.tree.value(node.id, node)
            return self.owner(value) if isinstance(value, ast.Call) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found = self.tree.find(node.func.id, node)
            defined = found[1][0].node if found is not None and len(found[1]) == 1 else None
            return defined if isinstance(defined, ast.ClassDef) else None
        return None

    def method(self, node: ast.expr) -> Def | None:
        """The method that `self.step` or `trainer.step` is."""
        cls = self.owner(node.value) if isinstance(node, ast.Attribute) else None
        return method_of(cls, node.attr) if cls is not None and isinstance(node, ast.Attribute) else None

    def function(
        self, node: ast.expr | Def, through: frozenset[str] = flavours.TRANSFORMS, depth: int = 0
    ) -> Function | None:
        """The function of this file that an expression stands for, seen through transformations of it."""
        if depth > MAX_STEPS:
            return None
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                return node
            case ast.Name():
                found = self.tree.find(node.id, node)
                binding = found[1][0] if found is not None and len(found[1]) == 1 else None
                if found is not None and binding is None and all(each.function for each in found[1][:-1]):
                    binding = found[1][0]
                if binding is None:
                    return None
                if binding.value is not None:
                    return self.function(binding.value, through, depth + 1)
                return binding.function
            case ast.Attribute():
                return self.method(node)
            case ast.Call(args=[first, *_]) if self.absolute(node.func) in through:
                return self.function(first, through, depth + 1)
        return None

    def known(self, jit: Jit) -> list[str] | None:
        """The names of the parameters of what is jitted, as its caller sees them."""
        function = self.function(jit.wrapped)
        if function is None or function.args.vararg is not None:
            return None
        names = parameters(function)
        return names[1:] if isinstance(jit.wrapped, ast.Attribute) else names

    # Calls of them.

    def jit_calls(self) -> Iterator[JitCall]:
        """The calls of jitted functions whose options are known."""
        if not any(self.donated(jit) or self.static(jit) for jit in self.jits):
            return
        for node in self.calls:
            jit, shift = self.target(node.func)
            if jit is None:
                continue
            arguments = list(self._arguments(node, shift, self.known(jit)))
            donated = self._selected(self.donated(jit), arguments, self.known(jit))
            static = self._selected(self.static(jit), arguments, self.known(jit))
            if donated or static:
                text = _name(jit) if isinstance(node.func, ast.Call) else dotted(node.func)
                yield JitCall(node, jit, text, donated, static)

    def target(self, func: ast.expr) -> tuple[Jit | None, int]:
        """The jit that a called expression is the result of, and how many arguments are bound before."""
        match func:
            case ast.Call():
                return self.by_node.get(func) or self._returned(func), 0
            case ast.Name():
                found = self.tree.find(func.id, func)
                return (self._bound(found[1], func.id) if found is not None else None), 0
            case ast.Attribute():
                cls = self.owner(func.value)
                if cls is None:
                    return None, 0
                method = method_of(cls, func.attr)
                if method is not None:
                    return self.by_node.get(method), 0 if "staticmethod" in decorators(method) else 1
                values = self.assigned.get((cls, func.attr), [])
                return (self._value(values[0]) if len(values) == 1 else None), 0
        return None, 0

    def _bound(self, bindings: list[Binding], name: str, depth: int = 0) -> Jit | None:
        """`def step` under a decorator, `step = jit(...)`, or `step = jit(step)` after `def step`."""
        last = bindings[-1]
        if any(binding.function is None for binding in bindings[:-1]):
            return None
        if last.value is None:
            return self.by_node.get(last.node) if len(bindings) == 1 else None
        jit = self._value(last.value, depth)
        if len(bindings) == 1 or jit is None:
            return jit
        return jit if isinstance(jit.wrapped, ast.Name) and jit.wrapped.id == name else None

    def _value(self, value: ast.expr, depth: int = 0) -> Jit | None:
        return self.by_node.get(value) or self._returned(value, depth + 1)

    def _returned(self, value: ast.expr, depth: int = 0) -> Jit | None:
        """`make_step()`, where that is a function of this file that returns a jitted one."""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or depth > MAX_STEPS:
            return None
        found = self.tree.find(value.func.id, value)
        function = found[1][0].function if found is not None and len(found[1]) == 1 else None
        if function is None or not isinstance(function, ast.FunctionDef) or function.decorator_list:
            return None
        returns = [node.value for node in own_nodes(function) if isinstance(node, ast.Return)]
        if len(returns) != 1 or returns[0] is None:
            return None
        if isinstance(returns[0], ast.Name):
            bound = self.tree.bound(function, returns[0].id)
            return self._bound(bound, returns[0].id, depth) if len(bound) == 1 else None
        return self.by_node.get(returns[0])

    def _arguments(self, node: ast.Call, shift: int, known: list[str] | None) -> Iterator[Argument]:
        for position, each in enumerate(node.args, start=shift):
            if isinstance(each, ast.Starred):
                break
            name = known[position] if known is not None and position < len(known) else ""
            yield Argument(each, position, name)
        for word in node.keywords:
            if word.arg is not None:
                yield Argument(word.value, None, word.arg)

    def _selected(
        self, selection: Selection | None, arguments: list[Argument], known: list[str] | None
    ) -> tuple[Argument, ...]:
        if selection is None:
            return ()
        return tuple(
            each
            for each in arguments
            if selection.holds(each.position, each.parameter if each.position is None else None, known)
        )

    # Options.

    def donated(self, jit: Jit) -> Selection | None:
        """The arguments that are donated; None when that is not written out."""
        mode = jit.options.get("donate")
        if isinstance(mode, ast.Constant) and mode.value in _EQUINOX_DONATES:
            return Selection(onwards=1 if str(mode.value).endswith("except-first") else 0)
        return self._selection(jit, ("donate_argnums",), ("donate_argnames",))

    def static(self, jit: Jit) -> Selection | None:
        """The arguments that are static; None when that is not written out."""
        return self._selection(jit, ("static_argnums", "static_broadcasted_argnums"), ("static_argnames",))

    def _selection(self, jit: Jit, numbers: tuple[str, ...], names: tuple[str, ...]) -> Selection | None:
        chosen = [value for key in (*numbers, *names) for value in self._literals(jit.options.get(key))]
        if not chosen or None in chosen:
            return None
        return Selection(
            frozenset(each for each in chosen if isinstance(each, int)),
            frozenset(each for each in chosen if isinstance(each, str)),
        )

    def _literals(self, node: ast.expr | None, depth: int = 0) -> list[int | str | None]:
        """The numbers or names of an option; None among them for what is not written out."""
        match node:
            case None:
                return []
            case ast.Constant(value=int() | str() as value):
                return [value]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
                return [-value]
            case ast.Tuple() | ast.List():
                return [value for each in node.elts for value in self._literals(each, depth)]
            case ast.Name() if depth < MAX_STEPS:
                named = self.tree.value(node.id, node)
                return [None] if named is None else self._literals(named, depth + 1)
        return [None]


_FINDS: dict[type, Callable[[Sites, Any], None]] = {
    ast.FunctionDef: Sites._decorated,
    ast.AsyncFunctionDef: Sites._decorated,
    ast.Call: Sites._called,
    ast.Assign: Sites._assigned,
    ast.AnnAssign: Sites._assigned,
}


def _assignments(tree: Tree) -> Iterator[tuple[str, ast.expr]]:
    for node in tree.nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            yield node.targets[0].id, node.value


def method_of(cls: ast.ClassDef, name: str) -> Def | None:
    """The method of this name that a class itself defines."""
    found = [each for each in cls.body if isinstance(each, Def) and each.name == name]
    return found[0] if len(found) == 1 else None


def decorators(node: Def) -> list[str]:
    """The last names of a function's decorators."""
    plain = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return [dotted(each).rpartition(".")[2] for each in plain]


_OTHERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """What stands in a function's body, without the functions and classes in it."""
    stack: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(reversed(function.body))
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _OTHERS):
            stack += reversed(below(node, WITH_NAMES))


def _keywords(node: ast.Call) -> dict[str, ast.expr]:
    return {word.arg: word.value for word in node.keywords if word.arg is not None}


def _name(jit: Jit) -> str:
    """What a jitted function is called where it has no name of its own."""
    if isinstance(jit.wrapped, Def):
        return jit.wrapped.name
    return dotted(jit.wrapped) or f"{jit.spelling}(...)"
