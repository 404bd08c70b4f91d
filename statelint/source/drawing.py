"""Draws the outline of a file: one walk over its `ast`."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from statelint.model.names import Names, is_init, is_step
from statelint.model.trace import ProbeSite
from statelint.source import flavours
from statelint.source.declarations import probe_name, probe_names
from statelint.source.declared import ClassOutline, class_outline, named_tuple
from statelint.source.nodes import node_outline
from statelint.source.outline import MAX_DEPTH, Outline, Statement
from statelint.source.terms import dotted, from_ast
from statelint.source.text import Text


class _Where(msgspec.Struct, frozen=True):
    """Where the walk is: in which top-level statement, under which dotted scope, in which function."""

    statement: Statement
    scope: str = ""
    function: str = ""


def draw(text: Text, tree: ast.Module, module: str, names: Names, *, is_package: bool) -> Outline:
    """The outline of a parsed file."""
    outline = Outline(text, module, is_package, body=tree.body)
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
            ast.AugAssign: self._count,
            ast.Return: self._return,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
        }

    def walk(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
            statement = self._statement(first, node.end_lineno or node.lineno)
            self._walk(node, _Where(statement))
            if statement.depth <= MAX_DEPTH:
                self._constant(node)
        self._settle(probe_names(body))

    def _statement(self, first: int, last: int) -> Statement:
        """The lines of a statement, together with those before it that it shares a line with."""
        found = self.outline.statements
        joined = first > 1 and self.outline.text.lines[first - 2].endswith("\\")
        if found and (first <= found[-1].last or joined):
            found[-1].last = max(last, found[-1].last)
        else:
            found.append(Statement(first, last))
        return found[-1]

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
            self.outline.classes[scope] = class_outline(node, scope, self.outline.text)
        else:
            if not where.scope:
                self.outline.functions.add(node.name)
            if isinstance(node, ast.FunctionDef):
                self.outline.defined[scope] = node
                self.outline.steps = self.outline.steps or is_step(node.name)
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
            self.outline.steps = self.outline.steps or last in _LOOPS

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
        match node.value:
            case ast.Tuple(elts=[ast.Name() | ast.Lambda(), ast.Dict() | ast.Call(), *_]):
                self.outline.steps = True

    def _assign(self, node: ast.Assign | ast.AnnAssign, where: _Where) -> None:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            self._count(node, where)
        if where.function == "__init__" and isinstance(node.value, ast.Call | ast.Constant):
            where.statement.calls.add((where.scope.rpartition(".")[0], _owner(where.scope)))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
            if isinstance(node.value, ast.Dict | ast.Call) and self.names.is_state(name):
                where.statement.read = where.statement.read or _is_dict(node.value)
            on_self = isinstance(target, ast.Attribute) and dotted(target.value) == "self"
            if on_self and isinstance(node.value, ast.Call):
                self.outline.wrapped.add(name)

    def _count(self, node: ast.AugAssign | ast.Assign, where: _Where) -> None:
        """`self.count += 1`, `self.count = self.count + 1`: in a module of nnx it is part of the graphdef."""
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        on_self = isinstance(target, ast.Attribute) and dotted(target.value) == "self"
        where.statement.read = where.statement.read or (on_self and "nnx" in self.outline.text.content)

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
            elif absolute in flavours.STATE_CALLS:
                where.statement.read = True
            elif absolute in flavours.REGISTERS and node.args:
                self._registers(node, absolute, where)
            elif absolute in flavours.NAMED_TUPLES and len(node.args) > 1:
                made = named_tuple(node, where.scope, self.outline.text)
                if made is not None:
                    self.outline.classes.setdefault(made.name, made)
            elif absolute in flavours.PROBES and not where.function:
                site = ProbeSite(probe_name(node, probe_names.get(node)), self.outline.text.at(node))
                self.outline.probes.append(site)
        self._nodes()
        for name, function in self.outline.defined.items():
            if is_step(function.name) or name.rpartition(".")[2] in self.outline.traced:
                self.outline.taken.update(self._taken(function))
        self.outline.probes.sort(key=lambda probe: probe.at)

    def _nodes(self) -> None:
        outline = self.outline
        flattens: list[tuple[ClassOutline, ast.AST | None]] = []
        for cls in outline.classes.values():
            if any(outline.absolute(decorator.name) in flavours.REGISTER_NODE for decorator in cls.decorators):
                flattens.append((cls, cls.bodies.get("tree_flatten") or cls.bodies.get("tree_flatten_with_keys")))
        for scope, call in outline.node_calls:
            named = call.argument(0, "nodetype")
            flatten = call.argument(1, "flatten_with_keys" if call.last.endswith("keys") else "flatten_func")
            found = outline.find_class(named.name, scope) if named is not None else None
            if found is not None and flatten is not None:
                own = outline.defined.get(flatten.name) or outline.defined.get(f"{scope}.{flatten.name}")
                flattens.append((found, own or flatten.node))
        for cls, function in flattens:
            if isinstance(function, ast.FunctionDef | ast.Lambda):
                node = node_outline(cls, function)
                if node is not None:
                    outline.nodes[cls.name] = node

    def _taken(self, function: ast.FunctionDef) -> Iterator[str]:
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs):
            if argument.annotation is not None:
                named = argument.annotation
                yield str(named.value) if isinstance(named, ast.Constant) else dotted(named)
            elif self.names.is_state(argument.arg):
                yield ""

    def _registers(self, node: ast.Call, absolute: str, where: _Where) -> None:
        name = dotted(node.args[0])
        self.outline.known_to_jax.add(name)
        if absolute in flavours.REGISTER_DATACLASS:
            self.outline.registered[name] = from_ast(node)
        elif absolute in flavours.REGISTER_NODE:
            self.outline.node_calls.append((where.scope, from_ast(node)))

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


_LOOPS = frozenset(name.rpartition(".")[2] for name in (*flavours.LOOPS, *flavours.PROBES))
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


def _owner(method: str) -> str:
    """The class of a method, by its own name."""
    return method.rpartition(".")[0].rpartition(".")[2]


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
