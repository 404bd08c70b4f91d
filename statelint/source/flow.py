"""Reads of values whose buffers a call was given: a walk over one function in the order in which it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from statelint.model.callsites import DonatedRead
from statelint.source.lifetimes import HOST, Donation, State, Value, merge
from statelint.source.paths import METADATA, METADATA_FUNCTIONS, RAISES, Path, is_host, path_of, paths_in, tops
from statelint.source.sites import Def, JitCall, Sites
from statelint.source.terms import dotted
from statelint.source.tree import Comprehension, Scope, Tree
from statelint.source.walking import WITH_NAMES, below

MAX_DEPTH = 6
"""Loops nested deeper than this are walked for one turn: two turns each double the work."""


def reads(scope: Scope, sites: Sites, calls: dict[ast.Call, JitCall]) -> Iterator[DonatedRead]:
    """The reads after donation in one function, class or module, each once."""
    flow = _Flow(sites, calls)
    if isinstance(scope, ast.Lambda):
        flow.expression(scope.body, State({}, {}))
    else:
        flow.block(scope.body, State({}, {}))
    at, read = sites.outline.text.at, sites.outline.text.read
    for node, (spoken, donation, next_turn) in flow.found.items():
        call = sites.tree.parents.get(spoken)
        is_method = isinstance(call, ast.Call) and call.func is spoken and isinstance(spoken, ast.Attribute)
        yield DonatedRead(
            path=read(at(spoken.value if is_method and isinstance(spoken, ast.Attribute) else spoken)),
            at=at(node),
            donated=read(at(donation.argument)),
            function=donation.call.function,
            call=at(donation.call.node),
            next_turn=next_turn,
        )


class _Flow:
    def __init__(self, sites: Sites, calls: dict[ast.Call, JitCall]) -> None:
        self.sites = sites
        self.tree: Tree = sites.tree
        self.calls = calls
        self.found: dict[ast.expr, tuple[ast.expr, Donation, bool]] = {}
        self.functions: dict[str, Def] = {}
        # The innermost last; the first takes those that stand in no loop, which `ast` lets pass.
        self.breaks: list[list[State]] = [[]]
        self.continues: list[list[State]] = [[]]
        self.again: list[ast.AST] = []
        self.depth = 0
        self.muted = 0

    # Statements.

    def block(self, body: Sequence[ast.stmt], state: State | None) -> State | None:
        for node in body:
            if state is None:
                return None
            state = self.statement(node, state)
        return state

    def statement(self, node: ast.stmt, state: State) -> State | None:
        match node:
            case ast.Assign(targets=targets, value=value):
                self.assign(targets, value, state)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign([target], value, state)
            case ast.AugAssign():
                self.expression(node.target, state)
                self.expression(node.value, state)
                self.bind(node.target, state)
            case ast.Return() | ast.Raise():
                self.children(node, state)
                return None
            case ast.Break():
                self.breaks[-1].append(state)
                return None
            case ast.Continue():
                self.continues[-1].append(state)
                return None
            case ast.If(test=test, body=body, orelse=orelse):
                self.expression(test, state)
                return merge([self.block(body, state.copy()), self.block(orelse, state)])
            case ast.For() | ast.AsyncFor() | ast.While():
                return self.loop(node, state)
            case ast.Try() | ast.TryStar():
                return self.attempt(node, state)
            case ast.With() | ast.AsyncWith():
                return self.context(node, state)
            case ast.Match(subject=subject, cases=cases):
                self.expression(subject, state)
                return merge([state, *(self.block(case.body, state.copy()) for case in cases)])
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.functions[node.name] = node
                state.bind_new((node.name,), node)
            case ast.Delete():
                for each in node.targets:
                    self.bind(each, state)
            case ast.ClassDef():
                pass
            case _:
                self.children(node, state)
        return state

    def assign(self, targets: list[ast.expr], value: ast.expr, state: State) -> None:
        self.expression(value, state)
        for target in targets:
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                pairs = list(zip(target.elts, value.elts, strict=True))
            taken = [(each, self.aliases(given, state)) for each, given in pairs]
            for each, known in taken:
                self.bind(each, state, known)

    def aliases(self, value: ast.expr, state: State) -> Value | None:
        """The value that an expression is, when it makes no new one."""
        path = path_of(value)
        if path is not None:
            return state.value(path)
        return (HOST, ()) if is_host(value, self.sites.absolute) else None

    def bind(self, target: ast.AST, state: State, value: Value | None = None) -> None:
        match target:
            case ast.Tuple() | ast.List():
                for each in target.elts:
                    self.bind(each, state)
            case ast.Starred():
                self.bind(target.value, state)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                path = path_of(target)
                if path is None:
                    self.children(target, state)
                elif value is not None:
                    state.bind(path, value)
                else:
                    state.bind_new(path, target)

    def loop(self, node: ast.For | ast.AsyncFor | ast.While, state: State) -> State | None:
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        if not isinstance(node, ast.While):
            self.expression(node.iter, state)
        self.breaks.append([])
        self.depth += 1
        first = self.turn(node, state.copy())
        self.again.append(node)
        second = self.turn(node, first.copy()) if first is not None and self.depth <= MAX_DEPTH else None
        self.again.pop()
        self.depth -= 1
        breaks = self.breaks.pop()
        done = None if endless else merge([state, first, second])
        return merge([self.block(node.orelse, done), *breaks])

    def turn(self, node: ast.For | ast.AsyncFor | ast.While, state: State) -> State | None:
        self.continues.append([])
        if isinstance(node, ast.While):
            self.expression(node.test, state)
        else:
            self.bind(node.target, state)
        end = self.block(node.body, state)
        return merge([end, *self.continues.pop()])

    def attempt(self, node: ast.Try | ast.TryStar, state: State) -> State | None:
        """A handler may be reached from before and after every statement of the body."""
        points: list[State | None] = [state.copy()]
        current: State | None = state
        for each in node.body:
            if current is None:
                break
            current = self.statement(each, current)
            points.append(current.copy() if current is not None else None)
        caught = merge(points)
        ends = [self.block(node.orelse, current)]
        for handler in node.handlers:
            ends.append(self.block(handler.body, caught.copy() if caught is not None else None))
        end = merge(ends)
        if end is None and node.finalbody:
            self.block(node.finalbody, caught)
            return None
        return self.block(node.finalbody, end)

    def context(self, node: ast.With | ast.AsyncWith, state: State) -> State | None:
        for item in node.items:
            self.expression(item.context_expr, state)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, state)
        expected = any(
            isinstance(item.context_expr, ast.Call) and dotted(item.context_expr.func).rpartition(".")[2] in RAISES
            for item in node.items
        )
        self.muted += expected
        end = self.block(node.body, state)
        self.muted -= expected
        return end

    # Expressions.

    def expression(self, node: ast.AST, state: State) -> None:
        match node:
            case ast.Name() | ast.Attribute() | ast.Subscript():
                self.path(node, state)
            case ast.Call():
                self.call(node, state)
            case ast.Lambda():
                self.closure(node, state)
            case ast.NamedExpr():
                self.assign([node.target], node.value, state)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.expression(test, state)
                other = state.copy()
                self.expression(body, state)
                self.expression(orelse, other)
                self.absorb(state, other)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self.comprehension(node, state)
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                pass
            case _:
                self.children(node, state)

    def children(self, node: ast.AST, state: State) -> None:
        for child in below(node, WITH_NAMES):
            self.expression(child, state)

    def absorb(self, state: State, other: State) -> None:
        merged = merge([state, other])
        if merged is not None:
            state.names, state.gone = merged.names, merged.gone

    def comprehension(self, node: Comprehension, state: State) -> None:
        self.depth += 1
        for turn in (1, 2) if self.depth <= MAX_DEPTH else (1,):
            self.again += [node] * (turn - 1)
            for at, generator in enumerate(node.generators):
                if at or turn == 1:
                    self.expression(generator.iter, state)
                self.bind(generator.target, state)
                for test in generator.ifs:
                    self.expression(test, state)
            parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            for part in parts:
                self.expression(part, state)
            self.again = self.again[: len(self.again) - (turn - 1)]
        self.depth -= 1

    def path(self, node: ast.Name | ast.Attribute | ast.Subscript, state: State) -> None:
        path = path_of(node)
        if path is None:
            if isinstance(node, ast.Attribute) and node.attr in METADATA and path_of(node.value) is not None:
                return
            self.children(node, state)
        elif METADATA.isdisjoint(path[1:]):
            self.read(node, path, state)

    def call(self, node: ast.Call, state: State) -> None:
        name = dotted(node.func).rpartition(".")[2]
        self.expression(node.func, state)
        given = [*node.args, *(word.value for word in node.keywords)]
        harmless = name in METADATA_FUNCTIONS or "deleted" in name.lower()
        mapped = name in ("map", "tree_map") and dotted(node.args[0] if node.args else node).rpartition(".")[2]
        for each in given:
            if not (harmless or mapped in METADATA_FUNCTIONS) or path_of(each) is None:
                self.expression(each, state)
        jit_call = self.calls.get(node)
        if jit_call is None:
            owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
            self.handed_over([*owner, *given], node, state)
            return
        for argument in jit_call.donated:
            for path in paths_in(argument.node):
                state.donate(path, Donation(jit_call, argument.node))

    def handed_over(self, given: list[ast.expr], call: ast.Call, state: State) -> None:
        """Whoever is given an object, some part of which is gone, may bind that part again."""
        for each in given:
            path = path_of(each)
            if path is not None and any(state.lost_below(path)):
                state.bind_new(path, (call, path))

    def read(self, node: ast.expr, path: Path, state: State, spoken: ast.expr | None = None) -> None:
        function = self.functions.get(path[0]) if len(path) == 1 else None
        if function is not None and state.names.get(path) == (function, ()):
            self.closure(function, state, node)
        donation = state.lost(path)
        if donation is not None and not self.muted:
            inside = any(loop is each for loop in self.again for each, _ in self.tree.around(donation.call.node))
            self.found.setdefault(node, (spoken or node, donation, inside))

    def closure(self, function: Def | ast.Lambda, state: State, use: ast.expr | None = None) -> None:
        """A function reads what it takes from around it when it is called: not before it is spoken of."""
        for node in tops(function):
            path = path_of(node)
            found = self.tree.find(path[0], node) if path is not None else None
            if path is None or not METADATA.isdisjoint(path[1:]) or path[0] in self.functions:
                continue
            outer = found is None or all(scope is not function for scope in self._chain(found[0]))
            if outer and state.lost(path) is not None:
                self.read(node if use is None else use, path, state, node)

    def _chain(self, scope: Scope) -> Iterator[Scope]:
        yield scope
        while scope is not self.tree.module:
            scope = self.tree.scope(scope)
            yield scope
