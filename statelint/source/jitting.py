"""How often a function is jitted: once, or anew where jit's cache cannot know it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from statelint.diagnostics import Edit, Location
from statelint.model.callsites import Again, JitSite, Wraps
from statelint.model.names import Names, is_step
from statelint.source import flavours
from statelint.source.calling import Calling
from statelint.source.rewrites import jitted_outside
from statelint.source.sites import Def, Jit, Sites, own_nodes
from statelint.source.terms import dotted
from statelint.source.tree import Function, Loop, Tree, parameters
from statelint.source.walking import WITH_NAMES, walk

_HOST_CALLS = frozenset({"block_until_ready", "item", "time", "perf_counter", "device_get", "monotonic"})
"""Last names of calls that nothing makes under a trace."""


class Birth(msgspec.Struct, frozen=True, eq=False):
    """What is jitted, and the node at which that object is made; None: it is made once."""

    wraps: Wraps
    node: ast.AST | None = None


def sites(sites: Sites, calling: Calling, names: Names) -> Iterator[JitSite]:
    """The jit sites of a file, and the eager loops that compile at each turn of a Python loop."""
    judge = _Judge(sites, calling)
    for jit in sites.jits:
        birth = judge.birth(jit)
        again = judge.again(jit, birth)
        inner = next(sites.tree.functions(jit.node), None)
        function = sites.function(jit.wrapped)
        yield JitSite(
            jit=jit.spelling,
            at=sites.outline.text.at(jit.node),
            wrapped=_short(jit.wrapped, sites),
            wraps=birth.wraps,
            framework=jit.framework,
            again=again,
            inside=inner.name if isinstance(inner, Def) else "",
            donates=any(key in flavours.DONATIONS for key in jit.options),
            state=_state(function, names) if not calling.in_test(jit.node) else None,
            defined=_start(function, sites) if function is not None else None,
            outside=_outside(sites, jit, inner) if again is not None else (),
        )
    yield from _eager(sites, calling, judge)


def _outside(sites: Sites, jit: Jit, inner: Function | None) -> tuple[Edit, ...]:
    return jitted_outside(sites.tree, jit.node, inner.name if isinstance(inner, Def) else "", sites.outline.text)


class _Judge:
    def __init__(self, sites: Sites, calling: Calling) -> None:
        self.sites = sites
        self.tree: Tree = sites.tree
        self.calling = calling

    # What is jitted.

    def birth(self, jit: Jit) -> Birth:
        """The life of what is jitted. `nnx.jit` knows no function again, however long it lives."""
        if isinstance(jit.wrapped, Def):
            found = self._defined(jit.wrapped)
        else:
            found = self.born(jit.wrapped)
        if jit.framework == "flax.nnx":
            return Birth(found.wraps, jit.node)
        knows = jit.framework == "equinox" and (found.wraps == "bound method" or self._is_filtered(jit.wrapped))
        knows = knows or (found.wraps == "bound method" and jit.absolute.endswith("pmap"))
        return Birth(found.wraps) if knows else found

    def born(self, node: ast.expr, depth: int = 0) -> Birth:
        """The life of a function's object."""
        match node:
            case ast.Lambda():
                return Birth("lambda", node)
            case ast.Call():
                absolute = self.sites.absolute(node.func)
                if absolute in flavours.PARTIALS or absolute == "jax.tree_util.Partial":
                    return Birth("partial", node)
                if absolute in flavours.TRANSFORMS:
                    return Birth("transformed function", node)
            case ast.Attribute():
                if self.sites.method(node) is not None and not self._is_plain(node):
                    return Birth("bound method", node)
                if node.attr in ("apply", "init", "__call__") and self._is_instance(node.value):
                    return Birth("bound method", node)
            case ast.Name() if depth < 4:
                return self._named(node, depth)
        return Birth("function")

    def _named(self, node: ast.Name, depth: int) -> Birth:
        found = self.tree.find(node.id, node)
        if found is None or len(found[1]) != 1:
            return Birth("function")
        binding = found[1][0]
        if binding.function is not None:
            return self._defined(binding.function)
        return self.born(binding.value, depth + 1) if binding.value is not None else Birth("function")

    def _defined(self, node: Def) -> Birth:
        scope = self.tree.scope(node)
        if isinstance(scope, Function):
            return Birth("local function", node)
        return Birth("function", node if next(self.tree.loops(node), None) is not None else None)

    def _is_plain(self, node: ast.Attribute) -> bool:
        """An attribute that is no bound method: a static method, or one that a decorator makes something else."""
        method = self.sites.method(node)
        return method is not None and bool(method.decorator_list)

    def _is_instance(self, node: ast.expr) -> bool:
        """`Net(...)`, or a name of that."""
        if isinstance(node, ast.Name):
            value = self.tree.value(node.id, node)
            return isinstance(value, ast.Call) and self._is_instance(value)
        return isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2][:1].isupper()

    def _is_filtered(self, node: ast.expr | Def) -> bool:
        """Equinox's transformations, and `tree_util.Partial`, are pytrees: `eqx.filter_jit` compares them by value."""
        value = self.tree.value(node.id, node) if isinstance(node, ast.Name) else node
        absolute = self.sites.absolute(value.func) if isinstance(value, ast.Call) else ""
        return absolute.startswith("equinox.") or absolute == "jax.tree_util.Partial"

    # How often.

    def again(self, jit: Jit, birth: Birth) -> Again | None:
        """When the site is run anew with something that jit does not know yet."""
        calling = self.calling
        if birth.node is None or calling.in_trace(jit.node):
            return None
        use = self._use(jit)
        if use is None or calling.in_test(jit.node) or calling.is_cached(jit.node):
            return None
        born = list(self.tree.loops(birth.node))
        for loop in self.tree.loops(jit.node):
            if loop in born:
                return "loop" if self._is_wasteful(jit, loop, use) else None
        inner = next(self.tree.functions(jit.node), None)
        if inner is None or self.tree.scope(birth.node) is not inner or self._is_guarded(jit.node, inner):
            return None
        if any(next(self.tree.loops(each), None) is not None for each in use):
            return None  # made once for the loop that calls it
        if calling.is_step(inner):
            return "step"
        return "call" if use == [jit.node] and not calling.is_once(inner) else None

    def _use(self, jit: Jit) -> list[ast.expr] | None:
        """Where the result is called, if that is all that is done with it; None when it is kept."""
        if isinstance(jit.wrapped, Def) and jit.node in jit.wrapped.decorator_list:
            return self._calls_of(jit.wrapped.name, jit.wrapped)
        parent = self.tree.parents.get(jit.node)
        if isinstance(parent, ast.Call) and parent.func is jit.node:
            return [jit.node]
        if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
            return self._calls_of(parent.targets[0].id, parent)
        return None

    def _calls_of(self, name: str, node: ast.AST) -> list[ast.expr] | None:
        found = self.tree.find(name, node)
        if found is None or len(found[1]) != 1 or isinstance(found[0], ast.ClassDef):
            return None
        uses = [each for each in self.tree.loads.get(name, ()) if self.tree.is_in(each, found[0])]
        called = [use for use in uses if getattr(self.tree.parents[use], "func", None) is use]
        return list(called) if called and len(called) == len(uses) else None

    def _is_wasteful(self, jit: Jit, loop: Loop, use: list[ast.expr]) -> bool:
        """Not when each turn has a function of its own to jit, or jits for a loop inside it, or only when it must."""
        if self._is_guarded(jit.node, loop) and use != [jit.node]:
            return False
        turned = _bound_by(loop)
        if turned & _functions_in(jit.wrapped, self.sites):
            return False
        is_sweep = any(isinstance(each, ast.Name) and each.id in turned for each in walk([jit.wrapped], WITH_NAMES))
        return not (is_sweep and any(self._is_deeper(each, loop) for each in use))

    def _is_deeper(self, node: ast.AST, loop: Loop) -> bool:
        """In a loop inside this one."""
        loops = list(self.tree.loops(node))
        return loop in loops and loops[0] is not loop

    def _is_guarded(self, node: ast.AST, outer: ast.AST) -> bool:
        """Under an `if` that asks whether it is there already, or a handler."""
        for parent, _ in self.tree.around(node):
            if parent is outer:
                return False
            if isinstance(parent, ast.If | ast.ExceptHandler):
                return True
        return False


def _eager(sites: Sites, calling: Calling, judge: _Judge) -> Iterator[JitSite]:
    for call in sites.calls:
        absolute = sites.absolute(call.func)
        loop = next(sites.tree.loops(call), None) if absolute in flavours.EAGER_LOOPS else None
        if loop is None or calling.in_trace(call) or calling.in_test(call) or not _is_eager(call, loop, sites):
            continue
        for each in [part for given in call.args for part in (given.elts if isinstance(given, ast.List) else [given])]:
            birth = judge.born(each)
            if birth.node is not None and loop in sites.tree.loops(birth.node):
                at = sites.outline.text.at(call)
                wrapped = _short(each, sites)
                yield JitSite(dotted(call.func), at, wrapped, birth.wraps, again="loop", eager=True)
                break


def _is_eager(call: ast.Call, loop: Loop, sites: Sites) -> bool:
    """Surely outside any trace: at module level, in `main`, or beside what only works there."""
    function = next(sites.tree.functions(call), None)
    if function is None or (isinstance(function, Def) and function.name == "main"):
        return True
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _HOST_CALLS
        for node in walk([loop])
    )


def _start(function: Function, sites: Sites) -> Location:
    """The line of the `def`, without the body."""
    at = sites.outline.text.at(function)
    return Location(at.path, at.line, at.column)


def _state(function: Function | None, names: Names) -> str | None:
    """The parameter through which a jitted step takes a state that it returns."""
    if not isinstance(function, ast.FunctionDef) or not is_step(function.name):
        return None
    taken = [name for name in parameters(function) if names.is_state(name)]
    for node in own_nodes(function):
        if isinstance(node, ast.Return) and node.value is not None:
            given = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for name in taken:
                if any(_gives_back(each, name, names) for each in given):
                    return name
    return None


def _gives_back(node: ast.expr, name: str, names: Names) -> bool:
    match node:
        case ast.Name():
            return node.id == name or names.is_state(node.id)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=method)):
            return owner == name and method in (*flavours.REPLACE_METHODS, "apply_gradients")
    return False


def _bound_by(loop: Loop) -> set[str]:
    """The names that a loop binds at each turn."""
    targets: list[ast.AST] = []
    if isinstance(loop, ast.For | ast.AsyncFor):
        targets = [loop.target]
    elif not isinstance(loop, ast.While):
        targets = [generator.target for generator in loop.generators]
    return {node.id for target in targets for node in walk([target], WITH_NAMES) if isinstance(node, ast.Name)}


def _functions_in(wrapped: ast.expr | Def, sites: Sites) -> set[str]:
    """The names of what is jitted, or is called or transformed or gives a method in it."""
    found = {dotted(wrapped).partition(".")[0]} if isinstance(wrapped, ast.Attribute | ast.Name) else set()
    for node in walk([wrapped]):
        if isinstance(node, ast.Call):
            found.add(dotted(node.func).partition(".")[0])
            if sites.absolute(node.func) in flavours.TRANSFORMS | flavours.PARTIALS:
                found.update(dotted(each).partition(".")[0] for each in node.args[:1])
    return found


def _short(node: ast.expr | Def, sites: Sites) -> str:
    """What is jitted, as a message names it."""
    if isinstance(node, Def):
        return node.name
    text = sites.outline.text.read(sites.outline.text.at(node))
    return text if len(text) <= 40 else f"{text[:37].rstrip()}..."
