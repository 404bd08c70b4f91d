"""The step, traced abstractly: facts about the state it takes and gives back.

Nothing is compiled and nothing allocated. The step is wrapped in a function of flat leaves that builds the
state from tracers, as jit does, so that a class that validates is met as jit meets it; what comes out is
flattened inside the trace and carried to the next call as avals and a treedef, until a call key repeats.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax

from statelint.probe import blame, frames, leaves, spelling
from statelint.probe.adapters import adapter_for, is_jit
from statelint.probe.build import build, given, is_factory
from statelint.probe.jaxprs import Jaxpr, out_avals
from statelint.probe.nodes import Node, describe
from statelint.probe.states import State, differences, equal, is_aval, likeness, same

Facts = dict[str, Any]
"""What the model's `StepTrace` is decoded from, all but the probe's site."""

RESTLESS = 8
"""Calls in a row that may bring a new treedef or shape before the state is said to change at every call."""


class ProbeError(Exception):
    """A probe that cannot be traced as it is declared; the message is one line."""


@dataclasses.dataclass
class Call:
    """One traced call of the step.

    Attributes:
        before, after: the state that went in and the one that came out.
        variables: of the leaves that came out, by place; those that the adapter holds static have none.
        donated: for each leaf that went in.
    """

    before: State
    after: State
    jaxpr: Jaxpr
    variables: dict[int, Any]
    donated: list[bool]


@dataclasses.dataclass
class Loop:
    """The calls of a plain loop, up to its fixed point.

    Attributes:
        executables: how many it compiles; None: a new one every call.
        refused: the call that fails, which costs none, and its error.
    """

    calls: list[Call]
    executables: int | None = None
    refused: Facts | None = None


def trace(
    step: Callable[..., Any],
    state: Any,
    args: Sequence[Any] = (),
    *,
    state_args: Sequence[Any] = (),
    state_argnum: int = 0,
    returns: Any = None,
    x64: bool = False,
) -> Facts:
    """Trace a step to the fixed point of its call keys.

    Arguments are those of `statelint.Probe`.

    Raises:
        ProbeError: the step is no function, or its result holds no state.
        Exception: whatever the user's code raises at the first call.
    """
    if not callable(step):
        raise ProbeError(f"the step is no function: {spelling.short(step)}")
    if not 0 <= state_argnum <= len(args):
        raise ProbeError(f"state_argnum = {state_argnum}: the step is given {len(args)} other arguments")
    with _x64(x64):
        return _Tracer(step, state, args, state_args, state_argnum, returns).facts()


@contextlib.contextmanager
def _x64(enabled: bool) -> Iterator[None]:
    before = bool(jax.config.jax_enable_x64)
    jax.config.update("jax_enable_x64", enabled or before)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)


class _Tracer:
    def __init__(
        self,
        step: Callable[..., Any],
        state: Any,
        args: Sequence[Any],
        state_args: Sequence[Any],
        argnum: int,
        returns: Any,
    ) -> None:
        self.step = step
        self.argnum = argnum
        self.returns = returns
        self.arguments, self.arguments_treedef = jax.tree_util.tree_flatten(leaves.resolve_notation(list(args)))
        self.step_code = blame.Code(step)
        self.factory_code = blame.Code(state) if is_factory(state) else None
        self.built = build(state, state_args) if is_factory(state) else given(leaves.resolve_notation(state))
        wrapped = blame.unwrap(step)
        self.is_jitted = any(is_jit(function) for function in wrapped)
        self.adapter = adapter_for(wrapped, self.built.tree)
        self.first = self._state(self.built.tree, self.built.avals)

    def facts(self) -> Facts:
        """All that the model's `StepTrace` asks for."""
        refused = [node for node, value, _ in self.first.by_path.values() if self._is_refused(value)]
        # jit refuses such a state as a whole: there is no call to trace.
        loop = Loop([], executables=0) if refused else self._loop()
        added, blamed = self._restore(loop)
        first = loop.calls[0] if loop.calls else None
        return {
            "adapter": self.adapter.name,
            "donates": any(first.donated) if first and self.is_jitted else None,
            "leaves": [
                self._leaf(node, value, place, loop.calls) for node, value, place in self.first.by_path.values()
            ],
            "statics": list(self._statics(first)),
            "structure": list(self._structure(loop.calls)),
            "executables": {"loop": loop.executables, "restore": added},
            "restored": blamed,
            "refused": loop.refused,
        }

    # The calls.

    def _loop(self) -> Loop:
        loop = Loop([])
        seen, restless = [self.first], 0
        while restless < RESTLESS:
            try:
                call = self._call(seen[-1])
            except Exception as error:
                if not loop.calls:
                    raise
                return self._refused(loop, frames.one_line(error))
            loop.calls.append(call)
            if clash := call.before.clash(call.after):
                return self._refused(loop, clash)
            if any(call.after.key_equals(state) for state in seen):
                loop.executables = len(seen)
                break
            restless = 0 if call.before.comes_to_rest(call.after) else restless + 1
            seen.append(call.after)
        return loop

    @staticmethod
    def _refused(loop: Loop, error: str) -> Loop:
        calls = len(loop.calls)
        return Loop(loop.calls, executables=calls, refused={"call": calls + 1, "error": error})

    def _restore(self, loop: Loop) -> tuple[int, list[str]]:
        """How many executables the first restored state adds, and the paths of the leaves that make it another key."""
        if loop.executables is None or loop.refused or not loop.calls:
            return 0, []
        final = loop.calls[-1].after
        known, state, added = [call.before for call in loop.calls], final.restored(), 0
        while not any(state.key_equals(other) for other in known):
            known.append(state)
            added += 1
            if added > len(state) + RESTLESS:
                break
            state = self._call(state).after
        return added, final.weak_paths() if added else []

    def _call(self, state: State) -> Call:
        """Trace one call on placeholders of the state.

        Raises:
            ProbeError: the result holds no state.
            Exception: whatever the step raises.
        """
        seen: dict[str, Any] = {}
        in_state = [place for place, value in enumerate(state.values) if is_aval(value)]
        in_arguments = [place for place, value in enumerate(self.arguments) if self._is_traced_argument(value)]

        def flat_step(*tracers: Any) -> list[Any]:
            values, others = list(state.values), list(self.arguments)
            for place, tracer in zip(in_state, tracers, strict=False):
                values[place] = tracer
            for place, tracer in zip(in_arguments, tracers[len(in_state) :], strict=True):
                others[place] = tracer
            arguments = jax.tree_util.tree_unflatten(self.arguments_treedef, others)
            arguments.insert(self.argnum, jax.tree_util.tree_unflatten(state.treedef, values))
            result = self.step(*arguments)
            seen["tree"] = self._find_state(result, state)
            flat = jax.tree_util.tree_leaves(seen["tree"])
            seen["places"] = [place for place, leaf in enumerate(flat) if self.adapter.is_traced(leaf)]
            # What stands beside the state must be something that jit can give back, too.
            beside = jax.tree_util.tree_leaves(result) if self._is_plain else []
            return [*(flat[place] for place in seen["places"]), *beside]

        placeholders = [state.values[place] for place in in_state]
        placeholders += [leaves.abstract(self.arguments[place]) for place in in_arguments]
        traced = jax.jit(flat_step).trace(*placeholders)
        after = self._state(seen["tree"], dict(zip(seen["places"], out_avals(traced), strict=False)))
        jaxpr = Jaxpr(traced.jaxpr.jaxpr)
        variables = dict(zip(seen["places"], jaxpr.jaxpr.outvars, strict=False))
        donated_variables, donated = jaxpr.donated(), [False] * len(state)
        for place, variable in zip(in_state, jaxpr.jaxpr.invars, strict=False):
            donated[place] = variable in donated_variables
        return Call(state, after, jaxpr, variables, donated)

    def _state(self, tree: Any, avals: dict[int, Any]) -> State:
        flat, treedef = jax.tree_util.tree_flatten(tree)
        values = [
            avals[place] if place in avals and self.adapter.is_traced(leaf) else self._value(leaf)
            for place, leaf in enumerate(flat)
        ]
        return State(describe(tree), values, treedef)

    def _value(self, leaf: Any) -> Any:
        return leaves.abstract(leaf) if self.adapter.is_traced(leaf) else leaf

    @property
    def _is_plain(self) -> bool:
        return self.adapter.name == "jax.jit"

    def _is_refused(self, value: Any) -> bool:
        return self._is_plain and not is_aval(value)

    def _is_traced_argument(self, value: Any) -> bool:
        # A jitted step tells by itself which arguments are static: it is given Python values as they are.
        return leaves.is_array(value) if self.is_jitted or not self._is_plain else leaves.is_jit_leaf(value)

    def _find_state(self, result: Any, state: State) -> Any:
        """The state in the step's result.

        Raises:
            ProbeError: no part of it is like the state, or `returns` leads nowhere.
        """
        if self.returns is not None:
            for key in [self.returns] if isinstance(self.returns, int | str) else self.returns:
                try:
                    result = getattr(result, key) if isinstance(key, str) and hasattr(result, key) else result[key]
                except Exception:
                    raise ProbeError(f"returns = {self.returns!r}: the step's result has no {key!r}") from None
            return result
        candidates = [result, *(result if type(result) in (tuple, list) else ())]
        best = max(candidates, key=lambda candidate: likeness(candidate, state))
        if likeness(best, state) <= 0:
            kind = spelling.type_name(result)
            raise ProbeError(f"the step's result, a {kind}, holds nothing like the state: say where with `returns`")
        return best

    # The facts.

    def _leaf(self, node: Node, value: Any, place: int, calls: list[Call]) -> Facts:
        facts: Facts = {"path": node.path, "name": node.name, "python_type": spelling.type_name(node.value)}
        first = calls[0].after.by_path.get(node.path) if calls else None
        placed = self._placed(node)
        if not is_aval(value):
            held = "invalid" if self._is_plain else "static"
            facts |= {"held": held, "value": spelling.short(value), "placed": placed, "made": placed}
            if first and not same(first[1], value):
                facts |= {
                    "value_after": spelling.short(first[1]),
                    "produced": self._produced(first, calls[0]),
                }
            return facts
        changed = [
            (number, before[1], after)
            for number, call in enumerate(calls, start=1)
            if (before := call.before.by_path.get(node.path)) and (after := call.after.by_path.get(node.path))
            if is_aval(before[1]) and is_aval(after[1]) and not same(before[1], after[1])
        ]
        changes = [
            {"call": number, "before": spelling.aval_facts(before), "after": spelling.aval_facts(after[1])}
            for number, before, after in changed
        ]
        return facts | {
            "held": spelling.held(node.value, value),
            "aval": spelling.aval_facts(value),
            "out": spelling.aval_facts(first[1]) if first and is_aval(first[1]) else None,
            "nbytes": leaves.nbytes(value),
            "donated": bool(calls) and calls[0].donated[place],
            "shares": self.built.shares.get(place),
            "changes": changes,
            "placed": placed,
            "made": self._made(place, placed),
            "produced": self._produced(changed[0][2], calls[changed[0][0] - 1]) if changed else None,
        }

    def _placed(self, node: Node) -> frames.Place | None:
        """Where the factory gives the field its value, or the class its default."""
        return (self.factory_code.sets(node) if self.factory_code else None) or blame.default_of(node)

    def _made(self, place: int, placed: frames.Place | None) -> frames.Place | None:
        operation = self.built.operation(place)
        if not operation or self.factory_code is None:
            return placed
        # An operation in the very function that fills the field: the field's line says more.
        return placed if placed and blame.same_function(operation[0], placed) else operation[0]

    def _produced(self, after: tuple[Node, Any, int], call: Call) -> frames.Place | None:
        node, _, place = after
        operation = call.jaxpr.operation(call.variables[place]) if place in call.variables else []
        return operation[0] if operation else self.step_code.sets(node)

    def _statics(self, first: Call | None) -> Iterator[Facts]:
        twins = {node.path: node for node in first.after.root.walk()} if first else {}
        for node in self.first.root.walk():
            for name, value in node.statics.items():
                field = Node(f"{node.path}.{name}" if node.path else name, name, value, type(value), parent=node)
                facts: Facts = {
                    "path": field.path,
                    "name": name,
                    "kind": spelling.static_kind(value),
                    "type": spelling.type_name(value),
                    "owner": node.kind.__name__,
                    "value": spelling.short(value),
                    "declared": blame.declaration_of(field),
                    "made": self._placed(field),
                }
                twin = twins.get(node.path)
                if twin is not None and twin.kind is node.kind and name in twin.statics:
                    is_equal = equal(value, twin.statics[name])
                    facts["comparable"] = is_equal is not None
                    if not is_equal:
                        produced = self.step_code.sets(field) or self.step_code.result()
                        facts |= {
                            "changed": True,
                            "after": spelling.short(twin.statics[name]),
                            "produced": produced,
                        }
                yield facts

    def _structure(self, calls: list[Call]) -> Iterator[Facts]:
        seen: set[str] = set()
        for number, call in enumerate(calls, start=1):
            for path, before, after, node in differences(call.before.root, call.after.root):
                if path not in seen:
                    seen.add(path)
                    produced = self.step_code.sets(node) or self.step_code.result()
                    yield {
                        "call": number,
                        "path": path,
                        "before": before,
                        "after": after,
                        "produced": produced,
                    }
