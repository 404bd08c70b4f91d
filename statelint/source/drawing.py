"""Draws the outline of a file: one walk over its `ast`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from statelint.model.names import Names, is_init, is_step
from statelint.model.trace import ProbeSite
from statelint.source import flavours
from statelint.source.declarations import probe_name, probe_names
from statelint.source.declared import ClassOutline, class_outline, named_tuple
from statelint.source.nodes import node_outline
from statelint.source.outline import Hint, Outline, Within
from statelint.source.terms import dotted, from_ast, is_class_name
from statelint.source.text import Text
from statelint.source.walking import FIELDS, HOLDING, WITH_NAMES, walk


class _Where(msgspec.Struct, frozen=True, eq=False):
    """Where the walk is: in which statement, under which dotted scope, in which function."""

    within: Within
    scope: str = ""
    function: str = ""


def draw(
    text: Text, tree: ast.Module, module: str, names: Names, *, is_package: bool, in_functions: bool = True
) -> Outline:
    """The outline of a parsed file; what stands in functions can be left out where only others ask for it."""
    outline = Outline(text, module, is_package, body=tree.body)
    _Walker(outline, names, in_functions=in_functions).walk(tree.body)
    return outline


class _Walker:
    """Walks once. What depends on imports, which may come later, is kept until the end."""

    def __init__(self, outline: Outline, names: Names, *, in_functions: bool) -> None:
        self.outline = outline
        self.names = names
        self.in_functions = in_functions
        self.calls: list[tuple[ast.Call, str, _Where]] = []
        self.decorated: list[tuple[str, ast.expr]] = []

    def walk(self, body: list[ast.stmt]) -> None:
        handlers = self._handlers()
        stack: list[tuple[ast.AST, _Where]] = [(node, _Where(Within(node))) for node in reversed(body)]
        while stack:
            top, where = stack.pop()
            nodes = [top]
            while nodes:  # of the statement, down to the statements in it
                node = nodes.pop()
                while type(node) is ast.Attribute:
                    node = node.value
                kind = type(node)
                if kind in handlers:
                    inside = handlers[kind](node, where)
                    if inside is not None and node is not top:
                        stack.append((node, where))
                        continue
                    where = inside or where
                    if where.function and not self.in_functions:
                        break
                for name in FIELDS[kind]:
                    child = getattr(node, name)
                    if type(child) is not list:
                        if type(child) in HOLDING:
                            nodes.append(child)
                    elif name in _BODIES:
                        stack += [
                            (each, _Where(Within(each, where.within), where.scope, where.function))
                            for each in child
                            if type(each) in HOLDING
                        ]
                    elif child:
                        nodes += [each for each in child if type(each) in HOLDING]
        for node in body:
            self._constant(node)
        self._settle()

    def _handlers(self) -> dict[type, Callable[[Any, _Where], _Where | None]]:
        return {
            ast.FunctionDef: self._function,
            ast.AsyncFunctionDef: self._function,
            ast.ClassDef: self._class,
            ast.Lambda: self._lambda,
            ast.Call: self._call,
            ast.Dict: self._dict,
            ast.Tuple: self._tuple,
            ast.Assign: self._assign,
            ast.AnnAssign: self._assign,
            ast.AugAssign: self._count,
            ast.Return: self._return,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
        }

    # What the nodes say.

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, where: _Where) -> _Where:
        scope = f"{where.scope}.{node.name}" if where.scope else node.name
        if not where.scope:
            self.outline.functions.add(node.name)
        if isinstance(node, ast.FunctionDef):
            self.outline.defined[scope] = node
            self.outline.steps = self.outline.steps or is_step(node.name)
        self.decorated.extend((node.name, decorator) for decorator in node.decorator_list)
        return _Where(where.within, scope, node.name)

    def _class(self, node: ast.ClassDef, where: _Where) -> _Where:
        scope = f"{where.scope}.{node.name}" if where.scope else node.name
        self.outline.classes[scope] = class_outline(node, scope, self.outline.text)
        return _Where(where.within, scope)

    def _lambda(self, node: ast.Lambda, where: _Where) -> _Where | None:
        return None if where.function else _Where(where.within, where.scope, "<lambda>")

    def _hint(self, node: ast.AST, where: _Where, call: str = "", scope: str = "") -> None:
        self.outline.hints.append(Hint(node, where.within, call, scope))

    def _call(self, node: ast.Call, where: _Where) -> None:
        func = node.func
        name = func.id if type(func) is ast.Name else dotted(func)
        last = func.attr if type(func) is ast.Attribute else name
        if last in flavours.REPLACE_METHODS and node.keywords:
            self._hint(node, where)
        elif is_class_name(last) or last == "create":
            self._hint(node, where, name, where.scope)
        elif name == "dict" and self._tells((word.arg for word in node.keywords), where):
            self._hint(node, where)
        for word in node.keywords:
            if type(word.value) in _DICTS and word.arg is not None:
                self._named(word.arg, word.value, where)
        if name and (name == last or last in _SETTLED):  # a name without a dot may be an alias
            self.calls.append((node, name, where))
        if name and last in _LOOPS:
            self.outline.steps = True

    def _dict(self, node: ast.Dict, where: _Where) -> None:
        keys = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if self._tells(keys, where):
            self._hint(node, where)
        for key, value in zip(keys, node.values, strict=True):
            if isinstance(key, str):
                self._named(key, value, where)

    def _tells(self, keys: Iterable[object], where: _Where) -> bool:
        """A dict of these keys may be a state here."""
        literal = [key for key in keys if isinstance(key, str)]
        return is_init(where.function) or self.names.is_state_dict(literal)

    def _named(self, name: str, value: ast.expr | None, where: _Where) -> None:
        """A dict that is named like a state."""
        if isinstance(value, _DICTS) and _is_dict(value) and self.names.is_state(name):
            self._hint(value, where)

    def _tuple(self, node: ast.Tuple, where: _Where) -> None:
        if is_init(where.function):
            self._hint(node, where)

    def _return(self, node: ast.Return, where: _Where) -> None:
        match node.value:
            case ast.Tuple(elts=[ast.Name() | ast.Lambda(), ast.Dict() | ast.Call(), *_]):
                self.outline.steps = True

    def _assign(self, node: ast.Assign | ast.AnnAssign, where: _Where) -> None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        self._named(name, node.value, where)
        if isinstance(target, ast.Attribute):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.IfExp):
                self._count(node, where)
            if where.function == "__init__":
                self._hint(node, where, _owner(where.scope), where.scope.rpartition(".")[0])
        if isinstance(node.value, ast.Call):
            for each in node.targets if isinstance(node, ast.Assign) else [target]:
                if isinstance(each, ast.Attribute) and dotted(each.value) == "self":
                    self.outline.wrapped.add(each.attr)

    def _count(self, node: ast.AugAssign | ast.Assign, where: _Where) -> None:
        """`self.count += 1`, `self.count = self.count + 1`: in a module of nnx it is part of the graphdef."""
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            if "nnx" in self.outline.text.content:
                self._hint(node, where)
            elif target.value.id == "self":
                self._hint(node, where, _owner(where.scope), where.scope.rpartition(".")[0])

    def _constant(self, node: ast.stmt) -> None:
        """A module-level name; one that is assigned again, or in a branch, stands for nothing."""
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                self.outline.constants[name] = None if name in self.outline.constants else from_ast(value)
            case ast.Assign() | ast.AugAssign() | ast.For() | ast.While() | ast.If() | ast.Try() | ast.With():
                for below in walk([node], WITH_NAMES):
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
                own = {name.rpartition(".")[2]: name for name in flavours.PROBES if name.rpartition(".")[0] == source}
                self.outline.imports = own | self.outline.imports
            else:
                self.outline.imports[alias.asname or alias.name] = f"{source}.{alias.name}"

    def _imported_module(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.outline.module.split(".")
        kept = len(package) - node.level + (1 if self.outline.is_package else 0)
        return ".".join([*package[: max(kept, 0)], *([node.module] if node.module else [])])

    # What can be told once all imports are known.

    def _settle(self) -> None:
        for name, decorator in self.decorated:
            self._transform(decorator, [name])
        for node, name, where in self.calls:
            absolute = self.outline.absolute(name)
            if absolute not in _KNOWN:
                continue
            if absolute in flavours.TRANSFORMS or absolute in flavours.PARTIALS:
                self._transform(node, _function_names(node.args))
                if absolute in flavours.EAGER_LOOPS:
                    self.outline.loops_again = self.outline.loops_again or where.within.in_loop
                if absolute not in flavours.PARTIALS:
                    self.outline.carried.update((where.scope, name) for name in _plain_names(node.args))
            elif absolute in flavours.STATE_CALLS or absolute in flavours.REPLACE_FUNCTIONS:
                self._hint(node, where)
            elif absolute in flavours.REGISTERS and node.args:
                self._registers(node, absolute, where)
            elif absolute in flavours.NAMED_TUPLES and len(node.args) > 1:
                made = named_tuple(node, where.scope, self.outline.text)
                if made is not None:
                    self.outline.classes.setdefault(made.name, made)
            elif absolute in flavours.PROBES and not where.function:
                name = probe_name(node, probe_names(self.outline.body).get(node))
                self.outline.probes.append(ProbeSite(name, self.outline.text.at(node)))
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

    def _transform(self, node: ast.expr, functions: list[str]) -> None:
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
        self.outline.donates = self.outline.donates or any(_donates(word) for word in keywords)


_KNOWN = flavours.TRANSFORMS.union(
    *(flavours.PARTIALS, flavours.STATE_CALLS, flavours.REPLACE_FUNCTIONS),
    *(flavours.REGISTERS, flavours.NAMED_TUPLES, flavours.PROBES),
)
_SETTLED = frozenset(name.rpartition(".")[2] for name in _KNOWN)
_LOOPS = frozenset(name.rpartition(".")[2] for name in (*flavours.LOOPS, *flavours.PROBES))
_DICTS = (ast.Dict, ast.Call)
_BODIES = frozenset({"body", "orelse", "finalbody"})


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
