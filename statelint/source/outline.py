"""What one walk over a file's `ast` shows: imports, classes, jit sites, probes, and what needs reading.

This is all that other files need to know of it, and it decides which top-level statements the reader parses.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from statelint.diagnostics import Location
from statelint.model.names import Names, is_init
from statelint.model.source import Framework
from statelint.model.trace import ProbeSite
from statelint.source import flavours
from statelint.source.terms import Term, dotted, from_ast
from statelint.source.text import Text

TOO_DEEP = "nested too deeply to be read"

MAX_DEPTH = 500
"""Statements nested deeper than this are not handed to LibCST, whose parser recurses on the C stack. It
survives a depth of 800 in every kind of expression; 1,500 kill the process."""


class FieldOutline(msgspec.Struct, frozen=True):
    """An annotated name in a class's body."""

    name: str
    at: Location
    annotation: ast.expr
    value: Term | None


class ClassOutline(msgspec.Struct, frozen=True):
    """A class as written. ``name`` is dotted, with the functions and classes around it."""

    name: str
    at: Location
    bases: tuple[Term, ...]
    decorators: tuple[Term, ...]
    fields: tuple[FieldOutline, ...]
    methods: frozenset[str]


class Statement(msgspec.Struct):
    """A top-level statement: its lines, and why it may need reading.

    Attributes:
        read: something in it is a state, whatever the names in it turn out to be.
        calls: what is called in it, with the scope, where that may turn out to be a class.
    """

    first: int
    last: int
    read: bool = False
    calls: set[tuple[str, str]] = msgspec.field(default_factory=set)
    depth: int = 0

    @property
    def too_deep(self) -> bool:
        """Nested deeper than LibCST can be trusted with."""
        return self.depth > MAX_DEPTH


class Outline(msgspec.Struct):
    """A file.

    Attributes:
        imports: what a local name stands for, dotted from the root.
        stars: modules of which all is imported.
        constants: module-level names that are assigned once.
        registered: arguments of `register_dataclass(cls, ...)` calls, by what stands for the class.
        traced: functions that are given to a jit or a transformation.
        jitted: functions under a jit, and whose.
        wrapped: attributes of `self` that are given the result of a call.
        carried: names, by scope, that are given to a transformation: the first carry of a loop.
    """

    text: Text
    module: str
    is_package: bool
    imports: dict[str, str] = {}
    stars: list[str] = []
    classes: dict[str, ClassOutline] = {}
    functions: set[str] = set()
    constants: dict[str, Term | None] = {}
    registered: dict[str, Term] = {}
    traced: set[str] = set()
    jitted: dict[str, Framework] = {}
    jits: set[Framework] = set()
    wrapped: set[str] = set()
    carried: set[tuple[str, str]] = set()
    donates: bool = False
    probes: list[ProbeSite] = []
    statements: list[Statement] = []

    def absolute(self, name: str) -> str:
        """A dotted name with its import put in place; a name of this file gets its module."""
        head, dot, rest = name.partition(".")
        if head in self.imports:
            return f"{self.imports[head]}{dot}{rest}"
        if head in self.functions or head in self.classes:
            return f"{self.module}.{name}"
        return name

    def find_class(self, name: str, scope: str) -> ClassOutline | None:
        """The class of this name, looked up from a scope outwards."""
        while True:
            found = self.classes.get(f"{scope}.{name}" if scope else name)
            if found is not None or not scope:
                return found
            scope = scope.rpartition(".")[0]


class _Where(msgspec.Struct, frozen=True):
    """Where the walk is: in which top-level statement, under which dotted scope, in which function."""

    statement: Statement
    scope: str = ""
    function: str = ""


def draw(text: Text, tree: ast.Module, module: str, names: Names, *, is_package: bool) -> Outline:
    """The outline of a parsed file."""
    outline = Outline(text, module, is_package)
    _Walker(outline, names).walk(tree.body)
    return outline


class _Walker:
    """Walks once. What depends on imports, which may come later, is kept until the end."""

    def __init__(self, outline: Outline, names: Names) -> None:
        self.outline = outline
        self.names = names
        self.calls: list[tuple[ast.Call, str, _Where]] = []
        self.decorated: list[tuple[str, ast.expr, Statement]] = []
        self.handlers: dict[type, Callable[[Any, _Where], None]] = {
            ast.Call: self._call,
            ast.Dict: self._dict,
            ast.Assign: self._assign,
            ast.AnnAssign: self._assign,
            ast.Return: self._return,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
        }

    def walk(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            statement = Statement(first, node.end_lineno or node.lineno)
            self.outline.statements.append(statement)
            self._walk(node, _Where(statement))
            if statement.depth <= MAX_DEPTH:
                self._constant(node)
        self._settle(_probe_names(body))

    def _walk(self, top: ast.stmt, where: _Where) -> None:
        stack: list[tuple[ast.AST, _Where, int]] = [(top, where, 1)]
        while stack:
            node, where, depth = stack.pop()
            where.statement.depth = max(where.statement.depth, depth)
            kind: Any = type(node)
            if kind in _SCOPES:
                where = self._scope(node, where)
            elif kind in self.handlers:
                self.handlers[kind](node, where)
            for name in _bearing(kind):
                child = getattr(node, name)
                for item in child if isinstance(child, list) else (child,):
                    if isinstance(item, ast.AST) and type(item) not in _LEAVES:
                        stack.append((item, where, depth + 1))

    # What the nodes say.

    def _scope(self, node: ast.AST, where: _Where) -> _Where:
        if isinstance(node, ast.Lambda):
            return _Where(where.statement, where.scope, where.function or "<lambda>")
        assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        scope = f"{where.scope}.{node.name}" if where.scope else node.name
        if isinstance(node, ast.ClassDef):
            self.outline.classes[scope] = _class_outline(node, scope, self.outline.text)
        else:
            if not where.scope:
                self.outline.functions.add(node.name)
            self.decorated.extend((node.name, decorator, where.statement) for decorator in node.decorator_list)
        return _Where(where.statement, scope, where.function if isinstance(node, ast.ClassDef) else node.name)

    def _call(self, node: ast.Call, where: _Where) -> None:
        name = dotted(node.func)
        last = node.func.attr if isinstance(node.func, ast.Attribute) else name
        if last in flavours.REPLACE_METHODS and node.keywords:
            where.statement.read = True
        elif last.lstrip("_")[:1].isupper() or last in ("create", "cls"):
            where.statement.calls.add((where.scope, name))
        elif name == "dict" and self._tells((word.arg for word in node.keywords), where):
            where.statement.read = True
        if name:
            self.calls.append((node, name, where))

    def _dict(self, node: ast.Dict, where: _Where) -> None:
        keys = (key.value if isinstance(key, ast.Constant) else None for key in node.keys)
        if self._tells(keys, where):
            where.statement.read = True

    def _tells(self, keys: Iterable[object], where: _Where) -> bool:
        """A dict of these keys may be a state here."""
        literal = [key for key in keys if isinstance(key, str)]
        return bool(literal) and (is_init(where.function) or self.names.is_state_dict(literal))

    def _return(self, node: ast.Return, where: _Where) -> None:
        if isinstance(node.value, ast.Tuple) and is_init(where.function):
            where.statement.read = True

    def _assign(self, node: ast.Assign | ast.AnnAssign, where: _Where) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            if isinstance(node.value, ast.Dict | ast.Call) and self.names.is_state(name):
                where.statement.read = where.statement.read or _is_dict(node.value)
            on_self = isinstance(target, ast.Attribute) and dotted(target.value) == "self"
            if on_self and isinstance(node.value, ast.Call):
                self.outline.wrapped.add(name)

    def _constant(self, node: ast.stmt) -> None:
        """A module-level name; one that is assigned again, or in a branch, stands for nothing."""
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                self.outline.constants[name] = None if name in self.outline.constants else from_ast(value)
            case ast.Assign() | ast.AugAssign() | ast.For() | ast.While() | ast.If() | ast.Try() | ast.With():
                for below in ast.walk(node):
                    if isinstance(below, ast.Name) and isinstance(below.ctx, ast.Store):
                        self.outline.constants[below.id] = None

    def _import(self, node: ast.Import, where: _Where) -> None:
        for alias in node.names:
            if alias.asname:
                self.outline.imports[alias.asname] = alias.name
            else:
                head = alias.name.partition(".")[0]
                self.outline.imports[head] = head

    def _import_from(self, node: ast.ImportFrom, where: _Where) -> None:
        source = self._imported_module(node)
        for alias in node.names:
            if alias.name == "*":
                self.outline.stars.append(source)
            else:
                self.outline.imports[alias.asname or alias.name] = f"{source}.{alias.name}"

    def _imported_module(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.outline.module.split(".")
        kept = len(package) - node.level + (1 if self.outline.is_package else 0)
        return ".".join([*package[: max(kept, 0)], *([node.module] if node.module else [])])

    # What can be told once all imports are known.

    def _settle(self, probe_names: dict[ast.Call, str]) -> None:
        for name, decorator, statement in self.decorated:
            self._transform(decorator, [name], statement)
        for node, name, where in self.calls:
            absolute = self.outline.absolute(name)
            if absolute in flavours.TRANSFORMS or absolute in flavours.PARTIALS:
                self._transform(node, _function_names(node.args), where.statement)
                if absolute not in flavours.PARTIALS:
                    self.outline.carried.update((where.scope, name) for name in _plain_names(node.args))
            elif absolute in flavours.REGISTER_DATACLASS and node.args:
                self.outline.registered[dotted(node.args[0])] = from_ast(node)
            elif absolute in flavours.PROBES and not where.function:
                site = ProbeSite(_probe_name(node, probe_names.get(node)), self.outline.text.at(node))
                self.outline.probes.append(site)
        self.outline.probes.sort(key=lambda probe: probe.at)

    def _transform(self, node: ast.expr, functions: list[str], statement: Statement) -> None:
        """A jit or a transformation of functions: `jit`, `jit(...)`, `partial(jit, ...)`."""
        keywords: list[ast.keyword] = []
        while isinstance(node, ast.Call):
            keywords += node.keywords
            is_partial = self.outline.absolute(dotted(node.func)) in flavours.PARTIALS
            node = node.args[0] if is_partial and node.args else node.func
        absolute = self.outline.absolute(dotted(node))
        if absolute not in flavours.TRANSFORMS:
            return
        self.outline.traced.update(functions)
        framework = flavours.JITS.get(absolute)
        if framework is None:
            return
        self.outline.jits.add(framework)
        self.outline.jitted.update(dict.fromkeys(functions, framework))
        statement.read = statement.read or framework == "flax.nnx"
        self.outline.donates = self.outline.donates or any(_donates(word) for word in keywords)


_SCOPES = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda})
_LEAVES = frozenset({ast.Constant, ast.Name, ast.Pass, ast.Break, ast.Continue})
_BARREN = frozenset(
    {
        "ctx",
        "op",
        "ops",
        "type_comment",
        "kind",
        "id",
        "attr",
        "name",
        "asname",
        "module",
        "level",
        "is_async",
    }
)


@functools.cache
def _bearing(kind: Any) -> tuple[str, ...]:
    """The fields of a node under which anything may stand."""
    return tuple(name for name in kind._fields if name not in _BARREN)


def _class_outline(node: ast.ClassDef, name: str, text: Text) -> ClassOutline:
    fields = tuple(
        FieldOutline(
            name=item.target.id,
            at=text.at(item.target),
            annotation=item.annotation,
            value=from_ast(item.value) if item.value is not None else None,
        )
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    )
    return ClassOutline(
        name=name,
        at=Location(text.path, node.lineno, text.at(node).column),
        bases=tuple(from_ast(base) for base in node.bases),
        decorators=tuple(from_ast(decorator) for decorator in node.decorator_list),
        fields=fields,
        methods=frozenset(item.name for item in node.body if isinstance(item, ast.FunctionDef)),
    )


def _is_dict(node: ast.expr) -> bool:
    return isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and dotted(node.func) == "dict")


def _function_names(args: Sequence[ast.expr]) -> list[str]:
    """The last names of functions among these arguments, also in lists of branches and under `partial`."""
    found = []
    stack = list(args)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.List | ast.Tuple):
            stack.extend(node.elts)
        elif isinstance(node, ast.Call):
            stack.extend(node.args)
        else:
            found.append(dotted(node).rpartition(".")[2])
    return [name for name in found if name]


def _plain_names(args: Sequence[ast.expr]) -> list[str]:
    return [node.id for node in args if isinstance(node, ast.Name)]


def _donates(word: ast.keyword) -> bool:
    """The keyword of a jit asks for donation: not an empty tuple, nor equinox's "none"."""
    if word.arg not in flavours.DONATIONS:
        return False
    match word.value:
        case ast.Constant(value=None | "none") | ast.Tuple(elts=[]) | ast.List(elts=[]):
            return False
    return True


def _probe_names(body: Sequence[ast.stmt]) -> dict[ast.Call, str]:
    """Calls that are assigned to a name, outside functions."""
    found: dict[ast.Call, str] = {}
    stack: list[ast.AST] = list(body)
    while stack:
        match stack.pop():
            case ast.Assign(targets=[ast.Name(id=name), *_], value=ast.Call() as call):
                found[call] = name
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call):
                found[call] = name
            case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While() | ast.ClassDef() as node:
                stack.extend(child for child in ast.iter_child_nodes(node))
    return found


def _probe_name(node: ast.Call, variable: str | None) -> str:
    """As the declaration names it: by `name=`, else by its variable, else by its step."""
    keywords = {word.arg: word.value for word in node.keywords}
    given = keywords.get("name")
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value
    step = keywords.get("step") or (node.args[0] if node.args else None)
    return variable or (ast.unparse(step) if step is not None else "probe")
