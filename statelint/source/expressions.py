"""Expressions over values that are only partly known: containers, classes, dtypes, keys."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from statelint.source import arrays, flavours
from statelint.source.index import Index
from statelint.source.outline import Outline
from statelint.source.results import dtype_named, result
from statelint.source.symbols import UNKNOWN, Dtype, Environment, Function, Given, Value, container, join, named
from statelint.source.terms import dotted, is_class_name
from statelint.source.walking import WITH_NAMES, below

if TYPE_CHECKING:
    from statelint.source.execution import Frame

Enter = Callable[[Function, Given, "Frame"], Value]

Watch = Callable[[ast.expr, str, list[Value], dict[str, Value]], None]
"""Told of calls that are given functions, by their absolute name, and of tuples, with what is in them."""


class Expressions:
    """Evaluates the expressions of one file."""

    def __init__(self, outline: Outline, index: Index) -> None:
        self.outline = outline
        self.index = index
        self.enter: Enter | None = None
        self.top = Environment()
        self.makers: frozenset[str] = frozenset()
        self.watch: Watch | None = None
        self._around: list[Environment] = []

    def absolute(self, node: ast.expr, frame: Frame) -> str:
        """The dotted name from the root; empty when it starts at a local value."""
        name = dotted(node)
        head = name.partition(".")[0]
        value = frame.names.get(head)
        return "" if not name or (value is not None and value.node != "function") else self.outline.absolute(name)

    def function(self, node: ast.FunctionDef | ast.Lambda, frame: Frame) -> Value:
        """A function that is defined here."""
        self._around.append(frame.names)
        return Value("function", function=Function(node, frame.names, frame.cls))

    def forget(self) -> None:
        """Let go of all functions: each holds the names around it, and these the function.

        Such circles would keep the trees of all files until the garbage collector runs, if it does.
        """
        for names in self._around:
            names.own.clear()
        self._around, self.enter, self.watch = [], None, None

    def evaluate(self, node: ast.expr, frame: Frame) -> Value:
        """What an expression gives."""
        form = _FORMS.get(type(node))
        value = form(self, node, frame) if form is not None else self._other(node, frame)
        return value if value.spot is not None else msgspec.structs.replace(value, spot=node)

    def _constant(self, node: ast.Constant, frame: Frame) -> Value:
        return (
            _CONSTANTS.get(type(node.value), UNKNOWN)
            if not isinstance(node.value, str)
            else Value("text", text=node.value)
        )

    def _name(self, node: ast.Name, frame: Frame) -> Value:
        return frame.names.get(node.id) or UNKNOWN

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        if node.attr in _CONSTANT_ATTRIBUTES and self.absolute(node, frame) in arrays.CONSTANTS:
            return Value("array", "float", python=True)
        return self.evaluate(node.value, frame).get(f".{node.attr}")

    def _unary(self, node: ast.UnaryOp, frame: Frame) -> Value:
        inner = self.evaluate(node.operand, frame)
        if not isinstance(node.op, ast.USub | ast.UAdd):
            return UNKNOWN
        return Value(inner.node if inner.node == "array" else "", inner.dtype, python=inner.python)

    def _compare(self, node: ast.Compare, frame: Frame) -> Value:
        sides = [self.evaluate(side, frame) for side in (node.left, *node.comparators)]
        is_array = len(sides) == 2 and any(side.node == "array" and not side.python for side in sides)
        return Value("array", "bool") if is_array else UNKNOWN

    def _choice(self, node: ast.IfExp, frame: Frame) -> Value:
        return join(self.evaluate(node.body, frame), self.evaluate(node.orelse, frame))

    def _lambda(self, node: ast.Lambda, frame: Frame) -> Value:
        return self.function(node, frame)

    def _walrus(self, node: ast.NamedExpr, frame: Frame) -> Value:
        value = self.evaluate(node.value, frame)
        frame.names.own[node.target.id] = value
        return value

    def _comprehension(self, node: ast.expr, frame: Frame) -> Value:
        """Its names are its own."""
        return UNKNOWN

    def _other(self, node: ast.expr, frame: Frame) -> Value:
        for each in below(node, WITH_NAMES):
            if isinstance(each, ast.expr):
                self.evaluate(each, frame)
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

    def _sequence(self, node: ast.Tuple | ast.List, frame: Frame) -> Value:
        values = [self.evaluate(item, frame) for item in node.elts]
        starred = any(isinstance(item, ast.Starred) for item in node.elts)
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
        python = left.python and right.python
        paths = (reckoned, left.follows, right.follows) if python else ()
        follows = next((path for path in paths if path is not None), None)
        return Value("array", dtype, reckoned=reckoned, follows=follows, python=python)

    # Calls.

    def _call(self, node: ast.Call, frame: Frame) -> Value:
        name = self.absolute(node.func, frame)
        given = Given(
            [self.evaluate(argument, frame) for argument in node.args],
            {word.arg: self.evaluate(word.value, frame) for word in node.keywords if word.arg is not None},
            any(isinstance(argument, ast.Starred) for argument in node.args),
            any(word.arg is None for word in node.keywords),
        )
        if self.watch is not None and (name in flavours.LOOPS or given.functions):
            self.watch(node, name, given.values, given.words)
        return (
            (self._made(node, given, frame) if self.makers else None)
            or self._entered(node, given, frame)
            or (self._method(node, given, frame) if not name.startswith(_LIBRARIES) else None)
            or self._built(node, name, given, frame)
            or self._result(node, name, given, frame)
        )

    def _result(self, node: ast.Call, name: str, given: Given, frame: Frame) -> Value:
        """What a function of a library gives."""
        if name in flavours.JITS and given.values and given.values[0].function is not None:
            return given.values[0]
        if given.starred:
            return UNKNOWN
        self._keys(name, node, given, frame)
        return self._converted(name, node, given, frame) or result(name, node, given.values, given.words, self.outline)

    def _made(self, node: ast.Call, given: Given, frame: Frame) -> Value | None:
        """A call of the constructor that is looked at, its arguments by position or name; `Cls.__new__(Cls)`."""
        written = dotted(node.func)
        if written in self.makers:
            items = {f"({at})": value for at, value in enumerate(given.values)}
            for at, argument in enumerate(node.args):
                if isinstance(argument, ast.Starred):
                    items[f"(*{at})"] = self.evaluate(argument.value, frame)
                    del items[f"({at})"]
            items.update({f"({word})": value for word, value in given.words.items()})
            return Value("class", items=items, spot=node)
        is_new = written.endswith(".__new__") and any(dotted(argument) in self.makers for argument in node.args)
        return Value("class", spot=node) if is_new else None

    def _entered(self, node: ast.Call, given: Given, frame: Frame) -> Value | None:
        """A call of a function of this file."""
        function = None
        if isinstance(node.func, ast.Name):
            called = frame.names.get(node.func.id)
            function = called.function if called is not None else None
        elif isinstance(node.func, ast.Attribute) and frame.cls and dotted(node.func.value) in ("self", "cls"):
            method = self.outline.defined.get(f"{frame.cls}.{node.func.attr}")
            if method is not None:
                function = Function(method, self.top, frame.cls, bound=1)
        if function is None or self.enter is None or not self.is_plain(function):
            return None
        return self.enter(function, given, frame)

    def is_plain(self, function: Function) -> bool:
        """Nothing stands around the function but a jit."""
        decorators = getattr(function.node, "decorator_list", [])
        return all(self._is_jit(decorator) for decorator in decorators)

    def _is_jit(self, decorator: ast.expr) -> bool:
        if isinstance(decorator, ast.Call):
            inner = decorator.args[:1] if self.outline.absolute(dotted(decorator.func)) in flavours.PARTIALS else []
            return self._is_jit(inner[0] if inner else decorator.func)
        return self.outline.absolute(dotted(decorator)) in flavours.JITS

    def _method(self, node: ast.Call, given: Given, frame: Frame) -> Value | None:
        """`x.replace(...)`, `x.at[i].set(...)`, `x.astype(...)` and other methods of values."""
        func = node.func
        match func:
            case ast.Attribute(
                value=ast.Subscript(value=ast.Attribute(value=array, attr="at")), attr="set" | "add" | "max" | "min"
            ):
                changed = self.evaluate(array, frame)
                return Value("array", changed.dtype, reckoned=changed.origin)
            case ast.Attribute(value=inner, attr=method):
                owner = self.evaluate(inner, frame)
            case _:
                return None
        values, words = given.values, given.words
        if method in flavours.REPLACE_METHODS and words and owner.node in ("class", ""):
            return UNKNOWN if given.unpacked else _replaced(owner, words)
        if method == "update" and owner.node == "dict":
            added = Value("dict", items={named(word): value for word, value in words.items()}, closed=True)
            return _merged(_merged(owner, values[0]) if values else owner, added)
        if method == "copy" and owner.node in ("dict", "FrozenDict"):
            return _merged(owner, values[0] if values else words.get("add_or_replace", Value("dict", closed=True)))
        if method == "unfreeze" and owner.node == "FrozenDict":
            return msgspec.structs.replace(owner, node="dict", origin=None, spot=node)
        if method == "astype" and node.args:
            return Value("array", dtype_named(node.args[0], self.outline))
        if method in ("sum", "max", "min", "prod", "reshape", "ravel", "mean", "copy") and owner.node == "array":
            return Value("array", "float" if method == "mean" else owner.dtype)
        return UNKNOWN if owner.node else None

    def _built(self, node: ast.Call, name: str, given: Given, frame: Frame) -> Value | None:
        """`Cls(...)` of a pytree class, `replace(x, ...)`, `eqx.tree_at(where, x, value)`."""
        if name in flavours.REPLACE_FUNCTIONS and given.values and given.words and not given.unpacked:
            return _replaced(given.values[0], given.words)
        if name in flavours.TREE_AT and len(given.values) >= 3:
            return _put(node.args[0], *given.values[1:3])
        written = dotted(node.func)
        if not is_class_name(written):
            return None
        local = frame.names.get(written.partition(".")[0])
        is_own = local is not None and not local.node and self.outline.find_class(written, "") is not None
        if local is not None and not is_own and written != "cls":
            return None
        known = self.index.known(self.outline, frame.cls if written == "cls" else written, frame.cls)
        if known is None or known.positional is None or not known.constructor:
            plain = self.index.plain(self.outline, written, frame.cls) if known is None else None
            if plain is not None:
                return Value("class", plain=plain)
            return Value("class", known=known) if known is not None and known.constructor else None
        if given.starred or given.unpacked:
            return Value("class", known=known)
        items = {f".{field.name}": each for field, each in zip(known.positional, given.values, strict=False)}
        items.update({f".{word}": each for word, each in given.words.items()})
        for field in known.cls.fields:
            default = field.default
            if default is not None and f".{field.name}" not in items and default.text == "None":
                items[f".{field.name}"] = Value("None")
        return Value("class", known=known, items=items)

    def _converted(self, name: str, node: ast.Call, given: Given, frame: Frame) -> Value | None:
        """Containers made of containers."""
        values = given.values
        first = values[0] if len(values) == 1 else None
        if name == "dict" and frame.names.get("dict") is None:
            words = {named(word): value for word, value in given.words.items()}
            added = Value("dict", items=words, closed=not given.unpacked)
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

    def _keys(self, name: str, node: ast.Call, given: Given, frame: Frame) -> None:
        """Keys that are used here."""
        if not name.startswith("jax.random.") or name in flavours.KEY_MAKERS:
            return
        key = given.words.get("key", given.values[0] if given.values else UNKNOWN)
        if key.origin is not None and name != "jax.random.fold_in":
            frame.used.setdefault(key.origin, node)
        elif key.made_of is not None and key.spot is not None and name not in flavours.KEY_CHANGES:
            frame.used.setdefault(key.made_of, key.spot)
        if key.fixed and name not in flavours.KEY_CHANGES:
            frame.fixed.append(node)


_FORMS: dict[type[ast.expr], Callable[[Expressions, Any, Frame], Value]] = {
    ast.Constant: Expressions._constant,
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.Dict: Expressions._dict,
    ast.Tuple: Expressions._sequence,
    ast.List: Expressions._sequence,
    ast.BinOp: Expressions._operation,
    ast.UnaryOp: Expressions._unary,
    ast.Compare: Expressions._compare,
    ast.IfExp: Expressions._choice,
    ast.Lambda: Expressions._lambda,
    ast.Call: Expressions._call,
    ast.NamedExpr: Expressions._walrus,
    ast.ListComp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
}

_CONSTANTS = {
    type(None): Value("None"),
    bool: Value("array", "bool", python=True),
    int: Value("array", "int", python=True),
    float: Value("array", "float", python=True),
}

_CONSTANT_ATTRIBUTES = frozenset(name.rpartition(".")[2] for name in arrays.CONSTANTS)
_LIBRARIES = ("jax.", "optax.", "flax.", "numpy.", "equinox.", "dataclasses.", "chex.", "functools.", "haiku.")


def _put(where: ast.expr, whole: Value, value: Value) -> Value:
    """`eqx.tree_at(lambda whole: whole.a.b, whole, value)`."""
    steps: list[str] = []
    inner = where.body if isinstance(where, ast.Lambda) else where
    while isinstance(inner, ast.Attribute):
        steps.append(f".{inner.attr}")
        inner = inner.value
    is_path = isinstance(where, ast.Lambda) and isinstance(inner, ast.Name) and bool(steps)
    return whole.put(steps[::-1], value) if is_path else UNKNOWN


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
