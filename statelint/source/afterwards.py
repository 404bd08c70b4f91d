"""What becomes of a dict after it is written: parts are set anew, leaves are mapped over."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from statelint.model.names import is_written
from statelint.source import arrays
from statelint.source.terms import Part, Term, dotted, from_ast
from statelint.source.walking import WITH_NAMES, below, walk

Absolute = Callable[[str], str]


class Afterwards(msgspec.Struct, frozen=True):
    """What the statements of one scope do with the names that it binds.

    Attributes:
        parts: by name, the keys that are set later, and to what; None where that is not to be told.
        mapped: the function that is mapped over what a name stands for, before it is given on.
        written: names that are given to a function that writes down what it is given.
    """

    parts: dict[str, dict[str, Term | None]] = {}
    mapped: dict[str, Term] = {}
    written: set[str] = set()

    def changed(self, name: str, term: Term) -> Term:
        """A dict with what it is given later; a part that is not to be told is left out."""
        later = {} if any(part.starred and part.value.name == name for part in term.parts) else self.parts.get(name, {})
        kept = [part for part in term.parts if part.name is None or part.name not in later]
        added = [Part(key, value) for key, value in later.items() if value is not None]
        return msgspec.structs.replace(term, parts=(*kept, *added)) if later else term


def read(body: Sequence[ast.stmt], absolute: Absolute) -> Afterwards:
    """The statements of a module or function, without the functions inside it."""
    found = Afterwards({}, {}, set())
    given = {
        node.value.id
        for node, _ in _statements(body)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Name)
    }
    for node, straight in _statements(body):
        for name, key, value in _settings(node):
            if value is not None and _reads(value, name):
                continue  # reckoned from what it was
            found.parts.setdefault(name, {})[key] = from_ast(value) if straight and value is not None else None
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call):
                _note(found, call, absolute, only=None if name in given else name)
            case ast.Expr(value=ast.Call() as call):
                found.written.update(_written(call))
            case ast.Return(value=ast.expr() as value):
                for each in walk([value]):
                    if isinstance(each, ast.Call):
                        _note(found, each, absolute)
    return found


def _written(call: ast.Call) -> Iterator[str]:
    """The names that stand in a call of a function that writes down what it is given."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else dotted(call.func)
    if is_written(name):
        given = [*call.args, *(word.value for word in call.keywords)]
        yield from (each.id for each in walk(given, WITH_NAMES) if isinstance(each, ast.Name))


def _statements(body: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, bool]]:
    """Each with whether it is surely run."""
    stack = [(node, True) for node in reversed(body)]
    while stack:
        node, straight = stack.pop()
        yield node, straight
        if not isinstance(node, _SCOPES):
            sure = straight and isinstance(node, ast.With | ast.AsyncWith)
            stack.extend((each, sure) for each in reversed(list(_below(node))))


def _below(node: ast.AST) -> Iterator[ast.stmt]:
    for each in below(node):
        if isinstance(each, ast.stmt):
            yield each
        elif isinstance(each, ast.ExceptHandler | ast.match_case):
            yield from _below(each)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _settings(node: ast.stmt) -> Iterator[tuple[str, str, ast.expr | None]]:
    """`state["step"] = ...`, `state |= {...}`, `state.update(...)`, `state.pop("step")`, `del state["step"]`.

    What a name is bound to anew (`state = {**state, "step": ...}`, `state = state.replace(step=...)`) is read there.
    """
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=[None, *_], values=[ast.Name(id=other), *_])):
            if name == other:
                yield from _unless_reckoned(name, _entries(name, node.value))
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.BinOp(left=ast.Name(id=other), op=ast.BitOr(), right=new)
        ):
            if name == other:
                yield from _unless_reckoned(name, _entries(name, new))
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=other), attr="replace" | "_replace"), keywords=words),
        ):
            if name == other:
                yield from _unless_reckoned(name, ((name, word.arg, word.value) for word in words if word.arg))
        case ast.Assign(targets=[ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key))]):
            yield name, key, node.value
        case ast.AugAssign(target=ast.Name(id=name), op=ast.BitOr(), value=ast.Dict() as added):
            yield from _entries(name, added)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="update")) as call):
            for given in call.args:
                yield from _entries(name, given)
            yield from ((name, word.arg, word.value) for word in call.keywords if word.arg)
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="pop"), args=[ast.Constant(value=str() as key), *_]
            )
        ):
            yield name, key, None
        case ast.Delete(targets=targets):
            for target in targets:
                match target:
                    case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key)):
                        yield name, key, None


def _unless_reckoned(name: str, settings: Iterable[tuple[str, str, ast.expr]]) -> Iterator[tuple[str, str, None]]:
    """The parts that are set to what is not reckoned from the name itself."""
    for _, key, value in settings:
        if not _reads(value, name):
            yield name, key, None


def _reads(value: ast.expr, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in walk([value], WITH_NAMES))


def _entries(name: str, added: ast.expr) -> Iterator[tuple[str, str, ast.expr]]:
    if isinstance(added, ast.Dict):
        for key, value in zip(added.keys, added.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield name, key.value, value


def _note(found: Afterwards, call: ast.Call, absolute: Absolute, only: str | None = None) -> None:
    """`jax.tree.map(f, state)`: of any name, or of this one."""
    if absolute(dotted(call.func)) in arrays.MAPS and len(call.args) == 2 and isinstance(call.args[1], ast.Name):
        name = call.args[1].id
        if only in (None, name):
            found.mapped[name] = from_ast(call.args[0])
