"""What one walk over a file's `ast` shows: imports, classes, jit sites, probes, and what needs reading.

This is all that other files need to know of it, and it decides which top-level statements the reader parses.
"""

from __future__ import annotations

import ast

import msgspec

from statelint.model.source import Framework
from statelint.model.trace import ProbeSite
from statelint.source.declared import ClassOutline
from statelint.source.nodes import NodeOutline
from statelint.source.terms import Term
from statelint.source.text import Text

TOO_DEEP = "nested too deeply to be read"

MAX_DEPTH = 500
"""Statements nested deeper than this are not handed to LibCST, whose parser recurses on the C stack. It
survives a depth of 800 in every kind of expression; 1,500 kill the process."""


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
        node_calls: calls of `register_pytree_node(cls, flatten, unflatten)`, with the scope.
        nodes: the classes with a flatten of their own, by their dotted names.
        known_to_jax: names of classes that are given to a function that registers them.
        body: the tree, until the file is read.
        defined: functions and methods by their dotted names, until the file is read.
        taken: annotations of what traced functions and steps take; empty for a state that has none.
        steps: something in it is called like a step, is a loop over a carry, declares a probe, or may
            be returned beside its state.
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
    steps: bool = False
    statements: list[Statement] = []

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
        self.body, self.defined = [], {}
        for cls in self.classes.values():
            cls.bodies.clear()

    def find_class(self, name: str, scope: str) -> ClassOutline | None:
        """The class of this name, looked up from a scope outwards."""
        while True:
            found = self.classes.get(f"{scope}.{name}" if scope else name)
            if found is not None or not scope:
                return found
            scope = scope.rpartition(".")[0]
