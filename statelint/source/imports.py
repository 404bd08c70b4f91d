"""By which names a file calls the modules that a fix needs, and where it would import them."""

from __future__ import annotations

import ast
import bisect
import functools
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from statelint.source.walking import first_line

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
        self._lines = [first_line(statement) for statement in tree.body]
        self._all = _by_name(_bindings(tree.body))
        self._top = _by_name(_bindings(tree.body, inside=False))
        self._imported = list(_imports_of(tree.body))
        self._scopes = functools.cache(_scopes)

    def name(self, module: str, line: int) -> str | None:
        """What a line of the file can call a module by what is imported above it; None when by nothing."""
        around = [scope for scope in self._around(line) if scope.first <= line <= scope.last]
        imported = [*self._imported, *(each for scope in around for each in scope.imported)]
        above = [binding for end, binding in imported if end < line]
        for binding in sorted(above, key=lambda binding: binding.module != module):
            spelling = _spelling(binding, module)
            if spelling and all(_all_same(binding, names) for names in (self._top, *(each.local for each in around))):
                return spelling
        return None

    def _around(self, line: int) -> Iterator[_Scope]:
        """The scopes in the statement of the module that this line stands in."""
        at = bisect.bisect_right(self._lines, line)
        while at:  # several may begin on a line
            at -= 1
            yield from self._scopes(self._body[at])
            if self._lines[at] < line:
                break

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
        return kin or last or first_line(body[0]) - 1


class _Scope(msgspec.Struct, frozen=True):
    """A function, a class and the like.

    Attributes:
        local: the modules, or empty names, that names are bound to in it.
        imported: what a function imports, with the line in which that ends.
    """

    first: int
    last: int
    local: dict[str, set[str]]
    imported: list[tuple[int, Binding]]


def _scopes(statement: ast.stmt) -> list[_Scope]:
    nodes = (node for node in ast.walk(statement) if isinstance(node, _SCOPES))
    return [
        _Scope(
            node.lineno,
            node.end_lineno or node.lineno,
            _by_name(_bindings(ast.iter_child_nodes(node))),
            list(_imports_of(node.body)) if isinstance(node, _FUNCTIONS) else [],
        )
        for node in nodes
    ]


def _by_name(bindings: Iterable[Binding]) -> dict[str, set[str]]:
    """The modules that each name is bound to; among them an empty one where that is none."""
    found: dict[str, set[str]] = {}
    for binding in bindings:
        found.setdefault(binding.name, set()).add(binding.module)
    return found


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _root(module: str) -> str:
    return module.partition(".")[0]


def _is_docstring(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=str())):
            return True
    return False


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


def _all_same(binding: Binding, others: Mapping[str, set[str]]) -> bool:
    return others.get(binding.name, set()) <= {binding.module}


def _imports_of(body: list[ast.stmt]) -> Iterator[tuple[int, Binding]]:
    """The imports that have surely run below them, each with the line in which it ends."""
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            yield from ((statement.end_lineno or statement.lineno, binding) for binding in _imports(statement))
        elif isinstance(statement, ast.Try):
            yield from _imports_of(statement.body)


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
