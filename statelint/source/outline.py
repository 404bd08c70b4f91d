"""What one walk over a file's `ast` shows: imports, classes, jit sites, probes, and what needs reading.

This is all that other files need to know of it, and it decides what of the file is read.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

import msgspec

from statelint.model.source import Framework
from statelint.model.trace import ProbeSite
from statelint.source.declared import ClassOutline
from statelint.source.nodes import NodeOutline
from statelint.source.terms import Term
from statelint.source.text import Text
from statelint.source.walking import walk

TOO_DEEP = "nested too deeply to be read"


class Within(msgspec.Struct, frozen=True, eq=False):
    """A statement, and the one around it."""

    node: ast.stmt
    outer: Within | None = None

    @property
    def in_loop(self) -> bool:
        """In a loop of the function around, or in a comprehension."""
        around: Within | None = self
        while around is not None and not isinstance(around.node, ast.FunctionDef | ast.AsyncFunctionDef):
            if isinstance(around.node, ast.For | ast.AsyncFor | ast.While):
                return True
            around = around.outer
        return any(isinstance(each, ast.comprehension) for each in walk([self.node]))


class Hint(msgspec.Struct, frozen=True, eq=False):
    """A node that may build a state or change one.

    Attributes:
        within: the statement that it stands in.
        call: the class that is called, where all hangs on whether it is known; empty for what may build one anyway.
        scope: where that is looked up.
    """

    node: ast.AST
    within: Within
    call: str = ""
    scope: str = ""


def with_those_around(found: Mapping[ast.AST, Within]) -> set[ast.AST]:
    """These nodes and all the statements that they stand in."""
    nodes: set[ast.AST] = set()
    for within in found.values():
        around: Within | None = within
        while around is not None and around.node not in nodes:
            nodes.add(around.node)
            around = around.outer
    return nodes.union(found)


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
        node_calls: calls of `register_pytree_node(cls, flatten, unflatten)`, with the scope.
        nodes: the classes with a flatten of their own, by their dotted names.
        known_to_jax: names of classes that are given to a function that registers them.
        body: the tree, until the file is read.
        defined: functions and methods by their dotted names, until the file is read.
        taken: annotations of what traced functions and steps take; empty for a state that has none.
        hints: what in it needs reading, until the file is read.
        loops_again: a loop or branch of `jax.lax` stands in a loop of Python.
        steps: something in it is called like a step, is a loop over a carry, declares a probe, or may
            be returned beside its state.
        forgotten: what is needed to read the file itself is gone.
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
    node_calls: list[tuple[str, Term]] = []
    nodes: dict[str, NodeOutline] = {}
    known_to_jax: set[str] = set()
    body: list[ast.stmt] = []
    defined: dict[str, ast.FunctionDef] = {}
    taken: set[str] = set()
    loops_again: bool = False
    steps: bool = False
    forgotten: bool = False
    hints: list[Hint] = []

    def absolute(self, name: str) -> str:
        """A dotted name with its import put in place; a name of this file gets its module."""
        head, dot, rest = name.partition(".")
        if head in self.imports:
            return f"{self.imports[head]}{dot}{rest}"
        if head in self.functions or head in self.classes:
            return f"{self.module}.{name}"
        return name

    def forget(self) -> None:
        """Let go of the tree: other files need no more than the outline."""
        self.body, self.defined, self.hints, self.forgotten = [], {}, [], True
        self.text.forget()
        for cls in self.classes.values():
            cls.bodies.clear()

    def find_class(self, name: str, scope: str) -> ClassOutline | None:
        """The class of this name, looked up from a scope outwards."""
        while True:
            found = self.classes.get(f"{scope}.{name}" if scope else name)
            if found is not None or not scope:
                return found
            scope = scope.rpartition(".")[0]
