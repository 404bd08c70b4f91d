"""Functions run without running them: statement by statement, over values that are only partly known.

Enough for the question what a step gives back for the state that it was given: names, containers, `replace`,
helpers of the same file. What lies in a branch is joined, what lies in a loop is forgotten.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

import msgspec

from statelint.source.expressions import Expressions
from statelint.source.outline import Outline
from statelint.source.symbols import UNKNOWN, Environment, Function, Given, Value, join
from statelint.source.terms import dotted
from statelint.source.walking import WITH_NAMES, walk

MAX_CALLS = 3
"""Functions that call functions are followed this deep."""


class Frame(msgspec.Struct):
    """One run of a function.

    Attributes:
        names: what they are bound to at this point.
        used: where keys of the state were used, by their path.
        fixed: where a key made from a constant was used.
        returns: what was returned so far, with the keys used up to there.
    """

    names: Environment
    cls: str = ""
    depth: int = 0
    used: dict[str, ast.expr] = {}
    fixed: list[ast.expr] = []
    returns: list[Returned] = []
    ended: bool = False

    def branch(self) -> Frame:
        """A copy that goes its own way but returns to the same caller."""
        names = Environment(dict(self.names.own), self.names.outer)
        return Frame(names, self.cls, self.depth, dict(self.used), list(self.fixed), self.returns)


class Returned(msgspec.Struct, frozen=True):
    """What one `return` gives."""

    value: Value
    used: dict[str, ast.expr]
    fixed: tuple[ast.expr, ...]


Watch = Callable[[ast.Assign, Frame], None]
"""Told of every assignment, before it is made."""


class Execution:
    """Runs the functions of one file.

    Attributes:
        is_whole: all statements of the module were run, so that its names stand for the same from now on.
    """

    def __init__(self, outline: Outline, expressions: Expressions) -> None:
        self.outline = outline
        self.expressions = expressions
        expressions.enter = self.enter
        self.watch: Watch | None = None
        self.touched: dict[ast.stmt, frozenset[str]] = {}
        self.is_whole = False
        self._known: dict[object, list[Returned]] = {}

    def run(self, function: Function, given: dict[str, Value], depth: int = 0) -> Frame:
        """Run a function to its end, given some of its parameters."""
        own: dict[str, Value | None] = {**dict.fromkeys(parameter_names(function.node), UNKNOWN), **given}
        frame = Frame(Environment(own, function.around), function.cls, depth)
        if isinstance(function.node, ast.Lambda):
            value = self.expressions.evaluate(function.node.body, frame)
            frame.returns.append(Returned(value, frame.used, tuple(frame.fixed)))
        else:
            self.block(function.node.body, frame)
        return frame

    def enter(self, function: Function, given: Given, frame: Frame) -> Value:
        """A call of a function of this file: what it returns, where that is one thing."""
        if frame.depth >= MAX_CALLS or given.starred:
            return UNKNOWN
        positions = parameter_names(function.node)[function.bound :]
        parameters = {**dict(zip(positions, given.values, strict=False)), **given.words}
        returns = self._returns(function, parameters, frame.depth + 1)
        for each in returns:
            frame.used.update(each.used)
            frame.fixed.extend(each.fixed)
        return returns[0].value if len(returns) == 1 else UNKNOWN

    def _returns(self, function: Function, given: dict[str, Value], depth: int) -> list[Returned]:
        """What a function returns; helpers that are given nothing of note return the same again."""
        plain = [(name, value.plainly) for name, value in given.items()]
        if not self.is_whole or function.around is not self.expressions.top or any(not each for _, each in plain):
            return self.run(function, given, depth).returns
        key = (function.node, function.cls, depth, self.watch is not None, *plain)
        if key not in self._known:
            self._known[key] = self.run(function, given, depth).returns
        return self._known[key]

    # Statements.

    def block(self, body: Sequence[ast.stmt], frame: Frame) -> None:
        """Run these statements, up to the one that ends the run."""
        for node in body:
            if frame.ended:
                return
            self._statement(node, frame)

    def _statement(self, node: ast.stmt, frame: Frame) -> None:
        match node:
            case ast.FunctionDef():
                frame.names.own[node.name] = self.expressions.function(node, frame)
            case ast.ClassDef():
                frame.names.own[node.name] = None
            case ast.Return():
                value = UNKNOWN if node.value is None else self.expressions.evaluate(node.value, frame)
                if node.value is not None:
                    frame.returns.append(Returned(value, dict(frame.used), tuple(frame.fixed)))
                frame.ended = True
            case ast.Raise() | ast.Break() | ast.Continue():
                frame.ended = True
            case ast.Assign():
                if self.watch is not None:
                    self.watch(node, frame)
                value = self.expressions.evaluate(node.value, frame)
                for target in node.targets:
                    self._bind(target, value, frame)
            case ast.AnnAssign(value=ast.expr() as given):
                self._bind(node.target, self.expressions.evaluate(given, frame), frame)
            case ast.AugAssign():
                changed = ast.BinOp(node.target, node.op, node.value)
                ast.copy_location(changed, node)
                self._bind(node.target, self.expressions.evaluate(changed, frame), frame)
            case ast.Expr(value=call):
                self._effect(call, frame)
            case ast.With():
                self.block(node.body, frame)
            case ast.If():
                self.expressions.evaluate(node.test, frame)
                self._either(node.body, node.orelse, frame)
            case ast.For() | ast.While() | ast.Try() | ast.TryStar() | ast.Match():
                self._unsure(node, frame)

    def _either(self, body: Sequence[ast.stmt], other: Sequence[ast.stmt], frame: Frame) -> None:
        first, second = frame.branch(), frame.branch()
        self.block(body, first)
        self.block(other, second)
        going = [branch for branch in (first, second) if not branch.ended]
        if not going:
            frame.ended = True
            return
        left, right = going[0], going[-1]
        joined = dict(_joined(left.names, right.names))
        frame.names.own.clear()
        frame.names.own.update(joined)
        frame.used = {**left.used, **right.used} if left.used.keys() == right.used.keys() else {}
        frame.fixed = left.fixed

    def _unsure(self, node: ast.stmt, frame: Frame) -> None:
        """Run what may be run never, once or often; what it binds is not known afterwards."""
        if self.watch is not None and isinstance(node, ast.For | ast.While):
            for each in node.body:
                if isinstance(each, ast.Assign):
                    self.watch(each, frame)
        touched = self._touched(node)
        frame.names.own.update(dict.fromkeys(touched, UNKNOWN))
        for body in _bodies(node):
            self.block(body, frame.branch())
        frame.names.own.update(dict.fromkeys(touched, UNKNOWN))

    def _touched(self, node: ast.stmt) -> frozenset[str]:
        if node not in self.touched:
            self.touched[node] = frozenset(_touched(node))
        return self.touched[node]

    def _effect(self, node: ast.expr, frame: Frame) -> None:
        """`info.update(...)`: a dict changed in place."""
        match node:
            case ast.Call(args=[owner, ast.Constant(value=str() as name), given]) if dotted(node.func) in _SETTERS:
                target = ast.copy_location(ast.Attribute(owner, name, ast.Store()), owner)
                self._bind(target, self.expressions.evaluate(given, frame), frame)
                return
        value = self.expressions.evaluate(node, frame)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "update":
                self._bind(node.func.value, value, frame)
            elif node.func.attr in ("pop", "setdefault", "clear", "popitem", "append", "extend", "insert"):
                self._bind(node.func.value, UNKNOWN, frame)

    def _bind(self, target: ast.expr, value: Value, frame: Frame) -> None:
        match target:
            case ast.Name(id=name):
                frame.names.own[name] = value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for at, element in enumerate(elements):
                    self._bind(element, value.get(f"[{at}]"), frame)
            case ast.Starred(value=inner):
                self._bind(inner, UNKNOWN, frame)
            case ast.Attribute() | ast.Subscript():
                root, steps = self._steps(target)
                whole = frame.names.get(root)
                if whole is not None:
                    frame.names.own[root] = UNKNOWN if None in steps else whole.put([s for s in steps if s], value)

    def _steps(self, target: ast.expr) -> tuple[str, list[str | None]]:
        """The name at the root of a target, and the steps from it; None for a step that is computed."""
        steps: list[str | None] = []
        while not isinstance(target, ast.Name):
            match target:
                case ast.Attribute(value=inner, attr=name):
                    steps.append(f".{name}")
                case ast.Subscript(value=inner, slice=ast.Constant(value=key)):
                    steps.append(f"[{key!r}]")
                case ast.Subscript(value=inner):
                    steps.append(None)
                case _:
                    return "", []
            target = inner
        return target.id, steps[::-1]


def _joined(left: Environment, right: Environment) -> Iterator[tuple[str, Value | None]]:
    """What own names stand for where one of two ways was taken."""
    for name in {**left.own, **right.own}:
        value, twin = left.get(name), right.get(name)
        yield name, join(value, twin) if value is not None and twin is not None else None


_SETTERS = ("setattr", "object.__setattr__")


def parameter_names(node: ast.FunctionDef | ast.Lambda) -> list[str]:
    """The parameters in the order of their positions, then the keyword ones."""
    arguments = node.args
    found = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument.arg for argument in found]


def _bodies(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    match node:
        case ast.For() | ast.While():
            yield from (node.body, node.orelse)
        case ast.Try() | ast.TryStar():
            yield [*node.body, *node.orelse, *node.finalbody]
            yield from (handler.body for handler in node.handlers)
        case ast.Match():
            yield from (case.body for case in node.cases)


def _touched(node: ast.stmt) -> Iterator[str]:
    """The names that are bound below, or whose value is changed in place."""
    for below in walk([node], WITH_NAMES):
        match below:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                yield _root(below)
            case ast.Call(func=ast.Attribute(value=owner, attr="update" | "pop" | "append" | "setdefault")):
                yield _root(owner)


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return dotted(node) if isinstance(node, ast.Name) else ""
