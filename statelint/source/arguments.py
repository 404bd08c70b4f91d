"""Static arguments that calls of jitted functions pass: what kind of value, and whether it surely varies."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from statelint.model.callsites import StaticArgument
from statelint.model.source import Kind
from statelint.source import arrays, flavours
from statelint.source.calling import Calling
from statelint.source.paths import RAISES
from statelint.source.sites import JitCall, Sites, method_of
from statelint.source.terms import dotted
from statelint.source.tree import Binding, Loop, Tree

_COUNTS = frozenset({"range", "enumerate", "itertools.count", "tqdm.trange", "tqdm.auto.trange"})
_CHANCE = ("random.", "numpy.random.", "time.", "uuid.")
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Pow)
FEW = 4
"""A loop of no more turns than this costs no more executables than a program can bear."""


def static(sites: Sites, calling: Calling, calls: Iterable[JitCall]) -> Iterator[StaticArgument]:
    """The static arguments that a rule may speak of."""
    for call in calls:
        if not call.static or _is_expected_to_fail(sites.tree, call.node):
            continue
        for argument in call.static:
            kind = _kind(argument.node, sites)
            varies = None if calling.in_test(call.node) else _varies(argument.node, call.node, sites)
            dataclass = _dataclass(argument.node, sites)
            if kind is not Kind.UNKNOWN or varies is not None or dataclass is not None:
                at = sites.outline.text.at(argument.node)
                text = sites.outline.text.read(at)
                yield StaticArgument(call.function, argument.parameter, at, text, kind, dataclass, varies)


def _kind(node: ast.expr, sites: Sites, depth: int = 0) -> Kind:
    match node:
        case ast.List() | ast.ListComp():
            return Kind.LIST
        case ast.Dict() | ast.DictComp():
            return Kind.DICT
        case ast.Set() | ast.SetComp():
            return Kind.SET
        case ast.Call():
            absolute = sites.absolute(node.func)
            return (
                Kind.ARRAY if absolute in arrays.MAKERS - arrays.MAPS else arrays.CALL_KINDS.get(absolute, Kind.UNKNOWN)
            )
        case ast.Name() if depth < 3:
            kinds = [_kind(value, sites, depth + 1) for value in _values(node, sites.tree)]
            return next((kind for kind in kinds if kind.is_mutable or kind.is_array), Kind.UNKNOWN)
    return Kind.UNKNOWN


def _dataclass(node: ast.expr, sites: Sites) -> str | None:
    """The class of a value, where that is a dataclass that Python gives no hash."""
    cls = sites.owner(node)
    if cls is None or len(cls.decorator_list) != 1 or method_of(cls, "__hash__") is not None:
        return None
    decorator = cls.decorator_list[0]
    keywords = decorator.keywords if isinstance(decorator, ast.Call) else []
    name = sites.absolute(decorator.func if isinstance(decorator, ast.Call) else decorator)
    hashed = any(word.arg in ("frozen", "eq", "unsafe_hash", None) for word in keywords)
    return cls.name if name == "dataclasses.dataclass" and not hashed else None


def _values(node: ast.Name, tree: Tree) -> list[ast.expr]:
    """What a name may stand for: the one value that it is given, or the items of a literal that a loop gives it."""
    found = tree.find(node.id, node)
    if found is None or len(found[1]) != 1:
        return []
    binding = found[1][0]
    if binding.value is not None:
        return [binding.value]
    if isinstance(binding.node, ast.For | ast.comprehension) and isinstance(binding.node.iter, ast.Tuple | ast.List):
        items = [_item(binding.node.target, item, node.id) for item in binding.node.iter.elts]
        return [item for item in items if item is not None]
    return []


def _item(target: ast.expr, item: ast.expr, name: str) -> ast.expr | None:
    if isinstance(target, ast.Name):
        return item if target.id == name else None
    if isinstance(target, ast.Tuple) and isinstance(item, ast.Tuple) and len(target.elts) == len(item.elts):
        found = [_item(*pair, name) for pair in zip(target.elts, item.elts, strict=True)]
        return next((each for each in found if each is not None), None)
    return None


def _varies(node: ast.expr, call: ast.Call, sites: Sites) -> str | None:
    """What changes a value from one turn to the next of a loop around the call."""
    loops = list(sites.tree.loops(call))
    if not loops:
        return None
    match node:
        case ast.Name():
            found = sites.tree.find(node.id, node)
            if found is not None and any(_counts(binding, node.id, loops, sites) for binding in found[1]):
                return f"`{node.id}` is another number at each turn of the loop"
        case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _OPERATORS):
            return _varies(left, call, sites) or _varies(right, call, sites)
        case ast.Call() if sites.absolute(node.func).startswith(_CHANCE):
            return f"`{dotted(node.func)}` gives another value at each call"
        case ast.Lambda():
            return "a lambda is a new object at each turn of the loop"
        case ast.Call() if sites.absolute(node.func) in flavours.PARTIALS:
            return "a partial is a new object at each turn of the loop"
    return None


def _counts(binding: Binding, name: str, loops: list[Loop], sites: Sites) -> bool:
    """Whether a loop around the call counts with this name."""
    match binding.node:
        case ast.For(target=target, iter=ast.Call() as source) as loop:
            counter = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
            counts = isinstance(counter, ast.Name) and counter.id == name
            return counts and loop in loops and sites.absolute(source.func) in _COUNTS and not _is_short(source)
        case ast.AugAssign(op=ast.Add() | ast.Sub()) as change:
            return any(loop in loops for loop in sites.tree.loops(change))
    return False


def _is_short(source: ast.Call) -> bool:
    """`range(3)`, `enumerate(("train", "eval"))`."""
    match source.args:
        case [ast.Constant(value=int() as stop)]:
            return stop <= FEW
        case [ast.Constant(value=int() as start), ast.Constant(value=int() as stop)]:
            return stop - start <= FEW
        case [ast.Tuple(elts=items) | ast.List(elts=items), *_]:
            return len(items) <= FEW
    return False


def _is_expected_to_fail(tree: Tree, node: ast.AST) -> bool:
    return any(
        isinstance(parent, ast.With)
        and any(
            isinstance(item.context_expr, ast.Call) and dotted(item.context_expr.func).rpartition(".")[2] in RAISES
            for item in parent.items
        )
        for parent, _ in tree.around(node)
    )
