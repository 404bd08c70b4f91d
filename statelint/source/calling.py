"""How the functions of a file are called: under a trace, again and again, or once."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from statelint.model.names import BUILDER_NAMES, is_init, is_step
from statelint.source import flavours
from statelint.source.outline import Outline
from statelint.source.sites import Def, Sites, decorators
from statelint.source.terms import dotted
from statelint.source.tree import Function, Tree

CACHES = frozenset({"cache", "lru_cache", "cached_property", "cached", "memoize", "weakref_lru_cache", "fixture"})
"""Last names of decorators under which a function runs once for the same arguments."""

_ONCE = re.compile(r"main|run|setup\w*|setUp\w*|experiment\w*|demo\w*|example\w*|.*_main|new|new_.*|teardown\w*")
_TESTS = re.compile(r"test.*|bench.*|.*_benchmark|.*_test|run_test.*|profile.*|time_.*")
_BUILDS = re.compile("|".join(name.replace("*", ".*") for name in BUILDER_NAMES) + "|from_.*|load.*|restore.*")
_TEST_FILES = re.compile(r"(?:^|/)(?:conftest\.py$|test_[^/]*$|[^/]*_test\.py$)")
_MODULES = frozenset({"flax.linen.Module", "equinox.Module", "haiku.Module"})


class Calling:
    """Answers for one file. What is not surely called again counts as called once."""

    def __init__(self, outline: Outline, tree: Tree, sites: Sites) -> None:
        self.outline = outline
        self.tree = tree
        self.sites = sites
        self._is_test_file = _TEST_FILES.search(outline.text.path.replace("\\", "/")) is not None

    def in_trace(self, node: ast.AST) -> bool:
        """Whether a node surely or likely runs while something is traced."""
        return any(function in self._traced for function in self.tree.functions(node))

    def in_test(self, node: ast.AST) -> bool:
        """Whether a node stands in a test or a benchmark."""
        return self._is_test_file or any(_TESTS.fullmatch(function.name) for function in self._named(node))

    def is_cached(self, node: ast.AST) -> bool:
        """Whether a function around a node keeps its results."""
        return any(not CACHES.isdisjoint(decorators(function)) for function in self._named(node))

    def is_looped(self, function: Function) -> bool:
        """Whether a loop of this file calls a function at each turn."""
        calls = self._called.get(function, ())
        return any(next(self.tree.loops(call), None) is not None and not self.in_test(call) for call in calls)

    def is_step(self, function: Function) -> bool:
        """Whether a function is one that is called for every step: by its name, or since a loop calls it."""
        return isinstance(function, Def) and (is_step(function.name) or self.is_looped(function))

    def is_once(self, function: Function) -> bool:
        """Whether a function is one that a program calls once: it builds something, or is the program."""
        if not isinstance(function, Def):
            return True
        name = function.name
        plain = name.strip("_")
        return bool(_ONCE.fullmatch(plain) or _BUILDS.fullmatch(plain) or is_init(name) or name.startswith("__"))

    def _named(self, node: ast.AST) -> list[Def]:
        return [function for function in self.tree.functions(node) if isinstance(function, Def)]

    @functools.cached_property
    def _called(self) -> dict[ast.AST, list[ast.Call]]:
        """The calls of each function of this file."""
        found: dict[ast.AST, list[ast.Call]] = {}
        for call in self.sites.calls:
            function = _callee(call, self.tree, self.sites)
            if function is not None:
                found.setdefault(function, []).append(call)
        return found

    @functools.cached_property
    def _traced(self) -> set[ast.AST]:
        """Functions under a jit or a transformation, those inside them, and those that they call."""
        functions = [node for node in self.tree.nodes if isinstance(node, Function)]
        callers = {call: list(self.tree.functions(call)) for calls in self._called.values() for call in calls}
        traced: set[ast.AST] = {
            *self._given(),
            *(function for function in functions if self._is_called_by_a_library(function)),
        }
        while True:
            inside = {
                function
                for function in functions
                if function not in traced and any(outer in traced for outer in self.tree.functions(function))
            }
            called = {
                function
                for function, calls in self._called.items()
                if function not in traced and any(outer in traced for call in calls for outer in callers[call])
            }
            if not inside and not called:
                return traced
            traced |= inside | called

    def _given(self) -> Iterator[Function]:
        """The functions of this file that are given to a jit or a transformation, or are decorated by one."""
        sites, through = self.sites, flavours.TRANSFORMS | flavours.PARTIALS
        given: list[ast.expr | Def] = [jit.wrapped for jit in sites.jits]
        for call in sites.calls:
            if sites.absolute(call.func) in flavours.TRANSFORMS:
                given += [each for arg in call.args for each in (arg.elts if isinstance(arg, ast.List) else [arg])]
        for node in self.tree.nodes:
            if isinstance(node, Def) and any(self._transforms(each) for each in node.decorator_list):
                yield node
        for each in given:
            function = sites.function(each, through)
            if function is not None:
                yield function

    def _transforms(self, node: ast.expr) -> bool:
        """A decorator that transforms: `jax.vmap`, `jax.vmap(...)`, `partial(jax.vmap, ...)`."""
        while isinstance(node, ast.Call):
            is_partial = self.sites.absolute(node.func) in flavours.PARTIALS and node.args
            node = node.args[0] if is_partial else node.func
        return self.sites.absolute(node) in flavours.TRANSFORMS

    def _is_called_by_a_library(self, function: Function) -> bool:
        """The call of a module, which as a rule is traced."""
        return isinstance(function, Def) and function.name in ("__call__", "call") and self._is_module(function)

    def _is_module(self, method: Def) -> bool:
        cls = self.tree.cls(method)
        bases = [self.outline.absolute(dotted(base)) for base in cls.bases] if cls is not None else []
        return any(base in _MODULES or base.endswith("Module") for base in bases)


def _callee(call: ast.Call, tree: Tree, sites: Sites) -> ast.AST | None:
    """The function of this file that is called by name, or as a method of `self`."""
    if isinstance(call.func, ast.Name):
        found = tree.find(call.func.id, call)
        return found[1][-1].function if found is not None else None
    return sites.method(call.func)
