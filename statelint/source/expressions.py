"""Expressions over values that are only partly known: containers, classes, dtypes, keys."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from statelint.source import arrays, flavours
from statelint.source.index import Index
from statelint.source.outline import Outline
from statelint.source.results import dtype_named, result
from statelint.source.symbols import UNKNOWN, Dtype, Function, Value, container, join, named
from statelint.source.terms import dotted

if TYPE_CHECKING:
    from statelint.source.execution import Frame

Enter = Callable[[Function, ast.Call, "Frame"], Value]

Watch = Callable[[ast.expr, str, list[Value], dict[str, Value]], None]
"""Told of calls that are given functions, by their absolute name, and of tuples, with what is in them."""


class Expressions:
    """Evaluates the expressions of one file."""

    def __init__(self, outline: Outline, index: Index) -> None:
        self.outline = outline
        self.index = index
        self.enter: Enter | None = None
        self.top: dict[str, Value] = {}
        self.makers: frozenset[str] = frozenset()
        self.watch: Watch | None = None

    def absolute(self, node: ast.expr, frame: Frame) -> str:
        """The dotted name from the root; empty when it starts at a local value."""
        name = dotted(node)
        head = name.partition(".")[0]
        value = frame.names.get(head)
        return "" if not name or (value is not None and value.node != "function") else self.outline.absolute(name)

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """What an expression gives."""
        value = self._evaluate(node, frame)
        return value if value.spot is not None else msgspec.structs.replace(value, spot=node)

    def _evaluate(self, node: ast.expr, frame: Frame) -> Value:
        match node:
            case ast.Constant(value=constant):
                return _constant(constant)
            case ast.Name(id=name):
                return frame.names.get(name, UNKNOWN)
            case ast.Attribute(value=owner, attr=attribute):
                if self.absolute(node, frame) in arrays.CONSTANTS:
                    return Value("array", "float", python=True)
                return self.evaluate(owner, frame).get(f".{attribute}")
            case ast.Subscript():
                return self._subscript(node, frame)
            case ast.Dict():
                return self._dict(node, frame)
            case ast.Tuple(elts=items) | ast.List(elts=items):
                return self._sequence(node, items, frame)
            case ast.BinOp():
                return self._operation(node, frame)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                inner = self.evaluate(operand, frame)
                return Value(inner.node if inner.node == "array" else "", inner.dtype, python=inner.python)
            case ast.Compare(left=left, comparators=[right]):
                sides = [self.evaluate(side, frame) for side in (left, right)]
                is_array = any(side.node == "array" and not side.python for side in sides)
                return Value("array", "bool") if is_array else UNKNOWN
            case ast.IfExp(body=body, orelse=other):
                return join(self.evaluate(body, frame), self.evaluate(other, frame))
            case ast.Lambda():
                return Value("function", function=Function(node, frame.names, frame.cls))
            case ast.Call():
                return self._call(node, frame)
            case ast.NamedExpr(target=target, value=inner):
                value = self.evaluate(inner, frame)
                frame.names[target.id] = value
                return value
        for below in ast.iter_child_nodes(node):
            if isinstance(below, ast.expr) and not isinstance(node, ast.ListComp | ast.DictComp | ast.GeneratorExp):
                self.evaluate(below, frame)
        return UNKNOWN

    # Containers.

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        whole = self.evaluate(node.value, frame)
        match node.slice:
            case ast.Constant(value=str() | int() as key):
                step = f"[{key!r}]"
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as back)) if whole.closed:
                step = f"[{len(whole.items) - back}]"
            case _:
                self.evaluate(node.slice, frame)
                return Value("array", whole.dtype) if whole.node == "array" else UNKNOWN
        if whole.node == "array":
            return Value("array", whole.dtype)
        return whole.get(step)

    def _dict(self, node: ast.Dict, frame: Frame) -> Value:
        found = Value("dict", closed=True)
        for key, given in zip(node.keys, node.values, strict=True):
            value = self.evaluate(given, frame)
            if isinstance(key, ast.Constant):
                items = {**found.items, f"[{key.value!r}]": value}
                found = msgspec.structs.replace(found, items=items)
            else:
                found = _merged(found, value if key is None else UNKNOWN)
        return found

    def _sequence(self, node: ast.Tuple | ast.List, items: list[ast.expr], frame: Frame) -> Value:
        values = [self.evaluate(item, frame) for item in items]
        starred = any(isinstance(item, ast.Starred) for item in items)
        if self.watch is not None:
            self.watch(node, "", values, {})
        parts = () if starred else ((f"[{at}]", value) for at, value in enumerate(values))
        return container("tuple" if isinstance(node, ast.Tuple) else "list", parts, node, closed=not starred)

    def _operation(self, node: ast.BinOp, frame: Frame) -> Value:
        left, right = self.evaluate(node.left, frame), self.evaluate(node.right, frame)
        if isinstance(node.op, ast.BitOr) and left.node in ("dict", "FrozenDict"):
            return _merged(left, right)
        reckoned = left.origin if left.origin is not None else right.origin
        sides = (left, right)
        if "array" not in (left.node, right.node) or any(side.node not in ("", "array") for side in sides):
            is_known = any(side.node == "class" for side in sides)
            return Value("" if is_known else "something", reckoned=reckoned)
        if not all(side.node == "array" for side in sides):
            # A Python number and something unknown may be anything; an array and something unknown is an array.
            sure = any(side.node == "array" and not side.python for side in sides)
            return Value("array" if sure else "something", reckoned=reckoned)
        dtype = _promoted(node.op, left.dtype, right.dtype)
        return Value("array", dtype, reckoned=reckoned, python=left.python and right.python)

    # Calls.

    def _call(self, node: ast.Call, frame: Frame) -> Value:
        name = self.absolute(node.func, frame)
        if self.watch is not None and self._tells(node, name, frame):
            given = [self.evaluate(argument, frame) for argument in node.args]
            named_ones = {word.arg: self.evaluate(word.value, frame) for word in node.keywords if word.arg}
            self.watch(node, name, given, named_ones)
        if self.makers:
            made = self._made(node, frame)
            if made is not None:
                return made
        own = self._entered(node, frame)
        if own is not None:
            return own
        if isinstance(node.func, ast.Attribute) and not name.startswith(_LIBRARIES):
            found = self._method(node, node.func, frame)
            if found is not None:
                return found
        built = self._built(node, frame)
        if built is not None:
            return built
        values = [self.evaluate(argument, frame) for argument in node.args]
        if name in flavours.JITS and values and values[0].function is not None:
            return values[0]
        words = {word.arg: self.evaluate(word.value, frame) for word in node.keywords if word.arg}
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return UNKNOWN
        self._keys(name, node, values, words, frame)
        return self._converted(name, node, values, frame) or result(name, node, values, words, self.outline)

    def _made(self, node: ast.Call, frame: Frame) -> Value | None:
        """A call of the constructor that is looked at, its arguments by position or name; `Cls.__new__(Cls)`."""
        written = dotted(node.func)
        if written in self.makers:
            items = {}
            for at, argument in enumerate(node.args):
                is_starred = isinstance(argument, ast.Starred)
                inner = argument.value if isinstance(argument, ast.Starred) else argument
                items[f"(*{at})" if is_starred else f"({at})"] = self.evaluate(inner, frame)
            items.update({f"({word.arg})": self.evaluate(word.value, frame) for word in node.keywords})
            return Value("class", items=items, spot=node)
        is_new = written.endswith(".__new__") and any(dotted(argument) in self.makers for argument in node.args)
        return Value("class", spot=node) if is_new else None

    @staticmethod
    def _tells(node: ast.Call, name: str, frame: Frame) -> bool:
        """A loop, or a call that is given functions of this file."""
        arguments = [*node.args, *(word.value for word in node.keywords)]
        given = (frame.names.get(dotted(argument)) for argument in arguments)
        return name in flavours.LOOPS or any(value is not None and value.node == "function" for value in given)

    def _entered(self, node: ast.Call, frame: Frame) -> Value | None:
        """A call of a function of this file."""
        function = None
        if isinstance(node.func, ast.Name) and node.func.id in frame.names:
            function = frame.names[node.func.id].function
        elif isinstance(node.func, ast.Attribute) and dotted(node.func.value) in ("self", "cls") and frame.cls:
            method = self.outline.defined.get(f"{frame.cls}.{node.func.attr}")
            if method is not None:
                function = Function(method, self.top, frame.cls, bound=1)
        if function is None or self.enter is None or not self.is_plain(function):
            return None
        return self.enter(function, node, frame)

    def is_plain(self, function: Function) -> bool:
        """Nothing stands around the function but a jit."""
        decorators = getattr(function.node, "decorator_list", [])
        return all(self._is_jit(decorator) for decorator in decorators)

    def _is_jit(self, decorator: ast.expr) -> bool:
        if isinstance(decorator, ast.Call):
            inner = decorator.args[:1] if self.outline.absolute(dotted(decorator.func)) in flavours.PARTIALS else []
            return self._is_jit(inner[0] if inner else decorator.func)
        return self.outline.absolute(dotted(decorator)) in flavours.JITS

    def _method(self, node: ast.Call, func: ast.Attribute, frame: Frame) -> Value | None:
        """`x.replace(...)`, `x.at[i].set(...)`, `x.astype(...)` and other methods of values."""
        match func:
            case ast.Attribute(
                value=ast.Subscript(value=ast.Attribute(value=array, attr="at")), attr="set" | "add" | "max" | "min"
            ):
                for argument in node.args:
                    self.evaluate(argument, frame)
                changed = self.evaluate(array, frame)
                return Value("array", changed.dtype, reckoned=changed.origin)
        owner = self.evaluate(func.value, frame)
        words = {word.arg: self.evaluate(word.value, frame) for word in node.keywords if word.arg}
        method = func.attr
        if method in flavours.REPLACE_METHODS and words and owner.node in ("class", ""):
            return _replaced(owner, words) if len(words) == len(node.keywords) else UNKNOWN
        values = [self.evaluate(argument, frame) for argument in node.args]
        if method == "update" and owner.node == "dict":
            given = Value("dict", items={named(word): value for word, value in words.items()}, closed=True)
            return _merged(_merged(owner, values[0]) if values else owner, given)
        if method == "copy" and owner.node in ("dict", "FrozenDict"):
            return _merged(owner, values[0] if values else words.get("add_or_replace", Value("dict", closed=True)))
        if method == "unfreeze" and owner.node == "FrozenDict":
            return msgspec.structs.replace(owner, node="dict", origin=None, spot=node)
        if method == "astype" and node.args:
            return Value("array", dtype_named(node.args[0], self.outline))
        if method in ("sum", "max", "min", "prod", "reshape", "ravel", "mean", "copy") and owner.node == "array":
            return Value("array", "float" if method == "mean" else owner.dtype)
        return UNKNOWN if owner is not UNKNOWN and owner.node else None

    def _built(self, node: ast.Call, frame: Frame) -> Value | None:
        """`Cls(...)` of a pytree class, `replace(x, ...)`, `eqx.tree_at(where, x, value)`."""
        name = self.absolute(node.func, frame)
        words = {word.arg: word.value for word in node.keywords}
        if name in flavours.REPLACE_FUNCTIONS and node.args and words and None not in words:
            source = self.evaluate(node.args[0], frame)
            return _replaced(source, {word: self.evaluate(each, frame) for word, each in words.items() if word})
        if name in flavours.TREE_AT and len(node.args) >= 3:
            return self._at(node, frame)
        written = dotted(node.func)
        local = frame.names.get(written.partition(".")[0])
        is_own = local is not None and not local.node and self.outline.find_class(written, "") is not None
        if not is_class_name(written) or (local is not None and not is_own and written != "cls"):
            return None
        known = self.index.known(self.outline, frame.cls if written == "cls" else written, frame.cls)
        if known is None or known.positional is None or not known.constructor:
            plain = self.index.plain(self.outline, written, frame.cls) if known is None else None
            if plain is not None:
                return Value("class", plain=plain)
            return Value("class", known=known) if known is not None and known.constructor else None
        if None in words or any(isinstance(argument, ast.Starred) for argument in node.args):
            return Value("class", known=known)
        given = {field.name: each for field, each in zip(known.positional, node.args, strict=False)}
        given.update({word: each for word, each in words.items() if word})
        items = {f".{field}": self.evaluate(each, frame) for field, each in given.items()}
        for field in known.cls.fields:
            default = field.default
            if default is not None and f".{field.name}" not in items and default.text == "None":
                items[f".{field.name}"] = Value("None")
        return Value("class", known=known, items=items)

    def _at(self, node: ast.Call, frame: Frame) -> Value:
        whole, value = (self.evaluate(argument, frame) for argument in node.args[1:3])
        where = node.args[0]
        steps: list[str] = []
        inner = where.body if isinstance(where, ast.Lambda) else where
        while isinstance(inner, ast.Attribute):
            steps.append(f".{inner.attr}")
            inner = inner.value
        is_path = isinstance(where, ast.Lambda) and isinstance(inner, ast.Name) and bool(steps)
        return whole.put(steps[::-1], value) if is_path else UNKNOWN

    def _converted(self, name: str, node: ast.Call, values: list[Value], frame: Frame) -> Value | None:
        """Containers made of containers."""
        first = values[0] if len(values) == 1 else None
        if name == "dict" and "dict" not in frame.names:
            words = {named(word.arg): self.evaluate(word.value, frame) for word in node.keywords if word.arg}
            added = Value("dict", items=words, closed=len(words) == len(node.keywords))
            base = first if first is not None else Value("dict", closed=not values)
            return _merged(msgspec.structs.replace(base, node="dict", spot=node), added)
        if name in flavours.FREEZES and first is not None:
            return msgspec.structs.replace(first, node="FrozenDict", spot=node, origin=None)
        if name in flavours.UNFREEZES and first is not None:
            return msgspec.structs.replace(first, node="dict", spot=node, origin=None)
        if name in ("tuple", "list") and first is not None:
            kept = first if first.node in ("tuple", "list") else UNKNOWN
            return Value("tuple" if name == "tuple" else "list", items=kept.items, closed=kept.closed)
        if name in arrays.MAPS and len(values) >= 2:
            return values[1].blurred()
        return None

    def _keys(self, name: str, node: ast.Call, values: list[Value], words: dict[str, Value], frame: Frame) -> None:
        """Keys that are used here."""
        if not name.startswith("jax.random.") or name in flavours.KEY_MAKERS:
            return
        key = words.get("key", values[0] if values else UNKNOWN)
        if key.origin is not None and name != "jax.random.fold_in":
            frame.used.setdefault(key.origin, node)
        if key.fixed and name not in flavours.KEY_CHANGES:
            frame.fixed.append(node)


def is_class_name(written: str) -> bool:
    """Whether a class may be called so."""
    last = written.rpartition(".")[2].lstrip("_")
    return last[:1].isupper() or last == "cls"


_LIBRARIES = ("jax.", "optax.", "flax.", "numpy.", "equinox.", "dataclasses.", "chex.", "functools.", "haiku.")


def _constant(value: object) -> Value:
    match value:
        case None:
            return Value("None")
        case bool():
            return Value("array", "bool", python=True)
        case int():
            return Value("array", "int", python=True)
        case float():
            return Value("array", "float", python=True)
        case str():
            return Value("text", text=value)
    return UNKNOWN


def _merged(first: Value, second: Value) -> Value:
    """`first | second`."""
    closed = first.closed and second.closed
    base = second.base if second.origin is None else second.origin
    own = first.base if first.origin is None else first.origin
    return Value(
        first.node or "dict",
        items={**first.items, **second.items},
        closed=closed,
        base=base if base is not None and not first.items else own,
    )


def _replaced(source: Value, words: dict[str, Value]) -> Value:
    for word, value in words.items():
        source = source.put([f".{word}"], value)
    return source


def _promoted(operator: ast.operator, left: Dtype, right: Dtype) -> Dtype:
    kinds = {left, right}
    if not kinds <= {"int", "float", "bool"}:
        return ""
    if isinstance(operator, ast.Div) or "float" in kinds:
        return "float"
    return "int" if "int" in kinds else ""
