"""By which names a file calls the modules that a fix needs, and where it would import them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import msgspec

MODULES = ("jax", "jax.numpy", "jax.random", "flax.struct", "equinox", "dataclasses")
"""Those that the edits of rules may name in braces; what a user has in braces is left alone."""

USUAL = {"jax.numpy": "jnp", "numpy": "np"}
"""The names that everyone gives these modules."""


class Binding(msgspec.Struct, frozen=True):
    """A name that something is bound to; ``module`` is the module where it is an import of one, else empty."""

    name: str
    module: str = ""


class Imports:
    """The modules of one file.

    Args:
        tree: the file as `ast` reads it.
    """

    def __init__(self, tree: ast.Module) -> None:
        self._body = tree.body
        self._scopes = [node for node in ast.walk(tree) if isinstance(node, _SCOPES)]
        self._all = list(_bindings(tree.body))
        self._top = list(_bindings(tree.body, inside=False))

    def name(self, module: str, line: int) -> str | None:
        """What a line of the file can call a module by what is imported above it; None when by nothing."""
        around = [scope for scope in self._scopes if scope.lineno <= line <= (scope.end_lineno or scope.lineno)]
        local = [binding for scope in around for binding in _bindings(ast.iter_child_nodes(scope))]
        bodies = [self._body, *(scope.body for scope in around if isinstance(scope, _FUNCTIONS))]
        imported = [binding for body in bodies for binding in _imported_above(body, line)]
        for binding in sorted(imported, key=lambda binding: binding.module != module):
            spelling = _spelling(binding, module)
            if spelling and _all_same(binding, (*self._top, *local)):
                return spelling
        return None

    def new(self, module: str) -> tuple[str, str] | None:
        """What to call a module that is not imported, and the statement that does; None when all names are taken."""
        alias = USUAL.get(module)
        plain = Binding(module.partition(".")[0], module.partition(".")[0])
        if alias is not None and _all_same(Binding(alias, module), self._all):
            return alias, f"import {module} as {alias}"
        return (module, f"import {module}") if _all_same(plain, self._all) else None

    def place(self, module: str) -> int:
        """The line after which the import of a module is put; 0: before all else."""
        body = self._body
        last = kin = 0
        for index, statement in enumerate(body):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                last = _line_end(body, index)
                if isinstance(statement, ast.Import) and _root(statement.names[0].name) == _root(module):
                    kin = last
            elif index == 0 and _is_docstring(statement):
                last = _line_end(body, index)
            else:
                break
        return kin or last or _first_line(body[0]) - 1


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _root(module: str) -> str:
    return module.partition(".")[0]


def _is_docstring(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _line_end(body: list[ast.stmt], index: int) -> int:
    """The last line of a statement and of those that begin on it, after a semicolon."""
    end = body[index].end_lineno or body[index].lineno
    for following in body[index + 1 :]:
        if following.lineno > end:
            break
        end = max(end, following.end_lineno or following.lineno)
    return end


def _spelling(binding: Binding, module: str) -> str:
    """The module by a name that is bound to it or to a package around it; empty when it is not."""
    if binding.module == module:
        return binding.name
    if binding.module and module.startswith(f"{binding.module}."):
        return binding.name + module.removeprefix(binding.module)
    return ""


def _all_same(binding: Binding, others: Iterable[Binding]) -> bool:
    return all(other.module == binding.module for other in others if other.name == binding.name)


def _imported_above(body: list[ast.stmt], line: int) -> Iterator[Binding]:
    """The imports that have surely run where this line does."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom) and (statement.end_lineno or statement.lineno) < line:
            yield from _imports(statement)
        elif isinstance(statement, ast.Try):
            yield from _imported_above(statement.body, line)


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[Binding]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            module = f"{node.module}.{alias.name}" if node.module and not node.level else ""
            yield Binding(alias.asname or alias.name, module)
        elif alias.asname:
            yield Binding(alias.asname, alias.name)
        else:
            yield Binding(_root(alias.name), _root(alias.name))


def _bindings(nodes: Iterable[ast.AST], *, inside: bool = True) -> Iterator[Binding]:
    """All that is bound under these nodes; not ``inside`` functions, classes and the like."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from _imports(node)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield Binding(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield Binding(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield Binding(name)
            case ast.MatchMapping(rest=str(name)):
                yield Binding(name)
        if inside or not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))
