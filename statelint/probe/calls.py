"""One call of the step: given its arguments, traced on placeholders, and its state found in what it gives back."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax

from statelint.probe import blame, compiling, frames, leaves, placement, spelling
from statelint.probe.adapters import Adapter, is_jit
from statelint.probe.build import ProbeError, pick, way
from statelint.probe.donation import ledger
from statelint.probe.flow import Flow, Key, flow
from statelint.probe.jaxprs import JITS, Jaxpr, is_literal, out_avals, shardings
from statelint.probe.states import State, is_aval, likeness


@dataclasses.dataclass
class Call:
    """One traced call of the step.

    Attributes:
        before, after: the state that went in and the one that came out.
        variables: of the leaves that came out, by place; those that the adapter holds static have none.
        inputs: of the leaves that went in, by place, the place among the jaxpr's inputs.
        is_jitted: the step is jitted by itself, so that its own jits say how they take what they are given.
        program: the call as it was compiled, where that was asked for.
    """

    before: State
    after: State
    jaxpr: Jaxpr
    variables: dict[int, Any]
    inputs: dict[int, int]
    is_jitted: bool = False
    program: compiling.Program | None = None

    @functools.cached_property
    def flow(self) -> Flow:
        """Followed once, for all that is asked of the inputs."""
        return flow(self.jaxpr.jaxpr)

    @functools.cached_property
    def offered(self) -> dict[int, str | None]:
        """Of the leaves that the step asks to donate, by place: None, or why no output reuses the buffer."""
        invars = {place: self.jaxpr.jaxpr.invars[number] for place, number in self.inputs.items()}
        own = {
            invars[place]: self.variables[found[2]]
            for path, (_, _, place) in self.before.by_path.items()
            if place in invars and (found := self.after.by_path.get(path)) and found[2] in self.variables
        }
        donated = ledger(self.jaxpr.jaxpr, own)
        return {place: donated[variable] for place, variable in invars.items() if variable in donated}

    @functools.cached_property
    def lost(self) -> dict[int, str | None]:
        """The same of those that are donated: what is no array of JAX's never is."""
        return {
            place: self.offered[place]
            for node, value, place in self.before.by_path.values()
            if place in self.offered and spelling.held(node.value, value) in ("array", "key")
        }

    def passes(self, place: int, path: str) -> bool:
        """Whether a leaf comes out at its path as the very value that went in."""
        after = self.after.by_path.get(path)
        number = self._outputs.get(after[2]) if after else None
        source = self.inputs.get(place)
        return number is not None and source is not None and self.flow.sources[number] == source

    @functools.cached_property
    def used(self) -> set[int | None]:
        """The inputs that jit does not drop."""
        kept = (taken for taken, jit in self._own_jits if jit["keep_unused"])
        return self.flow.reads.union(self.flow.sources, *kept)

    @property
    def keeps_unused(self) -> bool:
        """Whether a jit of the step is told to drop no input."""
        return any(jit["keep_unused"] for _, jit in self._own_jits)

    @functools.cached_property
    def destined(self) -> dict[int, Any]:
        """The inputs that the `in_shardings` of a jit have a place for, with that place."""
        return {
            number: place
            for taken, jit in self._own_jits
            for number, own in taken.items()
            if isinstance(place := jit["in_shardings"][own], jax.sharding.Sharding)
        }

    @functools.cached_property
    def _own_jits(self) -> list[tuple[dict[int, int], Any]]:
        """Those with nothing around them: which inputs each takes, at which of its own, and its parameters."""
        if not self.is_jitted:
            return []
        places = {variable: number for number, variable in enumerate(self.jaxpr.jaxpr.invars)}
        return [
            (
                {
                    places[taken]: own
                    for own, taken in enumerate(jit.invars)
                    if not is_literal(taken) and taken in places
                },
                jit.params,
            )
            for jit in self.jaxpr.jaxpr.eqns
            if jit.primitive.name in JITS
        ]

    @functools.cached_property
    def _outputs(self) -> dict[int, int]:
        return {place: number for number, place in enumerate(self.variables)}

    @functools.cached_property
    def _given_out(self) -> Counter[int | None]:
        return Counter(self.flow.sources)

    def reads(self, place: int, *, passes: bool) -> bool:
        """Whether anything but the leaf itself depends on it."""
        source = self.inputs.get(place)
        return source in self.flow.reads or self._given_out[source] > (1 if passes else 0)

    def makes_key_of(self, place: int) -> bool:
        """Whether a raw array is made a PRNG key."""
        return self.inputs.get(place) in self.flow.keys

    def used_at(self, place: int) -> frames.Place | None:
        """The user's line that first reads a leaf."""
        source = self.inputs.get(place)
        found = [] if source is None else self.jaxpr.reader(self.jaxpr.jaxpr.invars[source])
        return next(iter(found), None)

    def draws_again(self, place: int) -> bool:
        """Whether something is drawn from a key, or from one made of it, that does not differ at the next call."""
        source = self.inputs.get(place)
        return any(key.place == source and self._stays(key.numbers) for key in self._drawn)

    @functools.cached_property
    def _drawn(self) -> set[Key]:
        """The keys that are drawn from; one that is given out besides the state's own may be, too."""
        pairs = zip(self.flow.makes, self.flow.sources, strict=True)
        return self.flow.draws | {key for key, source in pairs if key is not None and source is None}

    def _stays(self, numbers: frozenset[int] | None) -> bool:
        """Whether the numbers that are folded into a key, given by what they depend on, are the same at the next call.

        What looks like a constant may be what the state holds static, so that this must not change either.
        """
        return numbers is None or (numbers <= self._kept and self.before.comes_to_rest(self.after))

    @functools.cached_property
    def _kept(self) -> set[int]:
        """The inputs that come out as they went in."""
        places = {path: place for path, (_, _, place) in self.before.by_path.items() if place in self.inputs}
        return {self.inputs[place] for path, place in places.items() if self.passes(place, path)}


COMPILED = 2
"""Calls of a loop that are compiled, at least: beyond the first, only what is placed has anything more to tell."""


class Stepper:
    """The step with its other arguments, ready for a state.

    Args:
        argnums: which positional arguments of the step the state is; several for a state that is a tuple of them.
        returns: where the state stands in the step's result; None: it is looked for.
        is_compiling: compile the calls that have something to tell; none once XLA has refused one.

    Attributes:
        where: the state's place in the step's result, as the last call showed it; with several argnums, that of each.
        uncompiled: why XLA refused a call.
        compiled: how many calls XLA was given.
    """

    where: Sequence[tuple[int | str, ...]] = ((),)
    uncompiled: str | None = None

    def __init__(
        self,
        step: Callable[..., Any],
        adapter: Adapter,
        args: Sequence[Any],
        argnums: Sequence[int],
        returns: Any,
        *,
        is_compiling: bool = False,
    ) -> None:
        self.step = step
        self.adapter = adapter
        self.argnums = tuple(argnums)
        self.returns = returns
        self.is_compiling = is_compiling
        self.compiled = 0
        self.is_jitted = any(is_jit(function) for function in blame.unwrap(step))
        self.flat, self.treedef = jax.tree_util.tree_flatten(list(args))
        if not self.is_jitted and adapter.name == "jax.jit":
            for value in self.flat:
                if not leaves.is_jit_leaf(value):
                    raise ProbeError(
                        f"args holds {spelling.short(value)}, which jax.jit takes only as a static argument"
                    )
        self.placed = [placement.of_leaf(value) for value in self.flat]

    def arguments(self, tree: Any, others: Sequence[Any]) -> list[Any]:
        """The step's positional arguments: the state between the others."""
        arguments = jax.tree_util.tree_unflatten(self.treedef, others)
        parts = [tree] if len(self.argnums) == 1 else tree
        for number, part in sorted(zip(self.argnums, parts, strict=True), key=lambda pair: pair[0]):
            arguments.insert(number, part)
        return list(arguments)

    def call(self, state: State) -> Call:
        """Trace one call on placeholders of the state.

        Raises:
            ProbeError: the result holds no state.
            RefusedError: jit would not take the state where it is.
            Exception: whatever the step raises.
        """
        seen: dict[str, Any] = {}
        in_state = [place for place, value in enumerate(state.values) if is_aval(value)]
        in_arguments = self.traced_arguments

        def flat_step(*tracers: Any) -> list[Any]:
            values, others = list(state.values), list(self.flat)
            for place, tracer in zip(in_state, tracers, strict=False):
                values[place] = tracer
            for place, tracer in zip(in_arguments, tracers[len(in_state) :], strict=True):
                others[place] = tracer
            tree = self.adapter.unflatten(state.treedef, values)
            result = self.step(*self.arguments(tree, others))
            found = self.state_in(result, tree, state)
            seen["flat"] = flat = self.adapter.flatten(found)
            seen["places"] = [place for place, leaf in enumerate(flat.leaves) if self.adapter.is_traced(leaf)]
            return [*(flat.leaves[place] for place in seen["places"]), *self._beside(result, flat.leaves)]

        placeholders = [leaves.at(state.values[place], state.placed[place]) for place in in_state]
        placeholders += [leaves.at(leaves.abstract(self.flat[place]), self.placed[place]) for place in in_arguments]
        traced = jax.jit(flat_step).trace(*placeholders)
        avals = dict(zip(seen["places"], out_avals(traced), strict=False))
        after = state_of(self.adapter, seen["flat"], avals)
        jaxpr = Jaxpr(traced.jaxpr.jaxpr)
        variables = dict(zip(seen["places"], jaxpr.jaxpr.outvars, strict=False))
        inputs = {place: number for number, place in enumerate(in_state)}
        call = Call(state, after, jaxpr, variables, inputs, self.is_jitted)
        self._check_places(call, placeholders)
        call.program = self._compiled(call, flat_step, placeholders)
        state.by_aval = frozenset(
            place for place, number in inputs.items() if number not in call.used or number in call.destined
        )
        for place, where in zip(variables, _placed(call, placeholders), strict=True):
            after.placed[place] = where
        return call

    def _check_places(self, call: Call, inputs: Sequence[Any]) -> None:
        """Refuse what jit refuses of the places of its arguments."""
        if all(aval.sharding is None for aval in inputs):
            return
        names = [node.path or "the state" for node in call.before.root.leaves()]
        named = [names[place] for place in call.inputs] + ["another argument"] * (len(inputs) - len(call.inputs))
        for number, place in call.destined.items():
            placement.check_asked(named[number], inputs[number].sharding, place, inputs[number])
        given = [
            (named[number], aval.sharding)
            for number, aval in enumerate(inputs)
            if number in call.used and number not in call.destined
        ]
        placement.check_devices([*given, *(("what the step names", place) for place in shardings(call.jaxpr.jaxpr))])

    def _compiled(
        self, call: Call, function: Callable[..., Any], placeholders: Sequence[Any]
    ) -> compiling.Program | None:
        if not self.is_compiling or self.uncompiled is not None:
            return None
        is_placed = any(aval.sharding is not None for aval in placeholders) or shardings(call.jaxpr.jaxpr)
        if self.compiled >= COMPILED and not is_placed:
            return None
        self.compiled += 1
        try:
            # What the step's own jit donates: a jit around it would not know.
            inputs = [
                leaves.at(aval, call.destined.get(number, aval.sharding)) for number, aval in enumerate(placeholders)
            ]
            return compiling.program(
                function, inputs, [call.inputs[place] for place in call.lost], keep_unused=call.keeps_unused
            )
        except Exception as error:
            self.uncompiled = frames.one_line(error)
            return None

    def settled(self, state: State) -> State:
        """The state as its classes make it when they are put together: some convert what they are given."""
        places = [place for place, value in enumerate(state.values) if is_aval(value)]

        def rebuild(*tracers: Any) -> list[Any]:
            values = list(state.values)
            for place, tracer in zip(places, tracers, strict=True):
                values[place] = tracer
            flat = self.adapter.flatten(self.adapter.unflatten(state.treedef, values)).leaves
            return [flat[place] for place in places]

        traced = jax.jit(rebuild).trace(*(state.values[place] for place in places))
        values = list(state.values)
        for place, aval in zip(places, out_avals(traced), strict=True):
            values[place] = aval
        return State(state.root, values, state.treedef, state.placed)

    def _beside(self, result: Any, in_state: Sequence[Any]) -> list[Any]:
        """What stands beside the state in the result, which jit must be able to give back, too."""
        if self.adapter.name == "flax.nnx.jit":
            return []
        own = Counter(map(id, in_state))
        beside = []
        for leaf in jax.tree_util.tree_leaves(result):
            own[id(leaf)] -= 1
            if own[id(leaf)] < 0:
                beside.append(leaf)
        return beside if self.adapter.name == "jax.jit" else [leaf for leaf in beside if leaves.is_array(leaf)]

    @functools.cached_property
    def traced_arguments(self) -> list[int]:
        """The other arguments that are traced, by place; they are inputs behind those of the state."""
        return [place for place, value in enumerate(self.flat) if self._is_traced_argument(value)]

    def _is_traced_argument(self, value: Any) -> bool:
        # A jitted step tells by itself which arguments are static: it is given Python values as they are.
        is_free = self.is_jitted or self.adapter.name == "equinox.filter_jit"
        return leaves.is_array(value) if is_free else leaves.is_jit_leaf(value)

    def state_in(self, result: Any, given: Any, state: State) -> Any:
        """The state after the step: in its result, or, where it is changed in place, the one that was given.

        Raises:
            ProbeError: no part of the result is like the state, or `returns` leads nowhere.
        """
        count = len(self.argnums)
        if self.returns is not None:
            self.where = [way(self.returns)] if count == 1 else list(map(way, self.returns))
            return self._picked(result)
        parts = result if type(result) in (tuple, list) else ()
        if self.adapter.in_place:
            is_object = type(given) not in (tuple, list, dict)
            return next((part for part in (result, *parts) if is_object and type(part) is type(given)), given)
        candidates: list[tuple[Sequence[tuple[int, ...]], Any]] = [
            ([(index,) for index in range(start, start + count)], tuple(parts[start : start + count]))
            for start in range(len(parts) - count + 1 if count > 1 else 0)
        ]
        candidates += [([()], result), *(([(index,)], part) for index, part in enumerate(parts))]
        self.where, best = max(candidates, key=lambda candidate: likeness(candidate[1], state))
        if likeness(best, state) <= 0:
            kind = spelling.type_name(result)
            raise ProbeError(f"the step's result, a {kind}, holds nothing like the state: say where with `returns`")
        return best

    def _picked(self, result: Any) -> Any:
        if len(self.argnums) == 1:
            return pick(result, self.returns, "returns", "the step's result")
        return tuple(pick(result, key, "returns", "the step's result") for key in self.returns)


def state_of(adapter: Adapter, flat: Any, avals: dict[int, Any], placed: dict[int, Any] | None = None) -> State:
    """A state that was taken apart, with the avals of those leaves that are spent tracers."""

    def value(place: int, leaf: Any) -> Any:
        if not adapter.is_traced(leaf):
            return leaf
        return avals[place] if place in avals else leaves.abstract(leaf)

    values = [value(place, leaf) for place, leaf in enumerate(flat.leaves)]
    where = placed or {}
    return State(flat.root, values, flat.treedef, [where.get(place) for place in range(len(values))])


def _placed(call: Call, inputs: Sequence[Any]) -> list[Any]:
    """Where the leaves that come out are committed."""
    named = [aval.sharding for number, aval in enumerate(inputs) if number in call.used]
    named += [*shardings(call.jaxpr.jaxpr), placement.of_context()]
    before = {path: call.before.placed[place] for path, (_, _, place) in call.before.by_path.items()}
    paths = [node.path for node in call.after.root.leaves()]
    return placement.after(
        named,
        [before.get(paths[place]) for place in call.variables],
        [
            placement.explicit(variable.aval, named) or placement.on_devices(call.jaxpr.sharded(variable), named)
            for variable in call.variables.values()
        ],
        call.program and call.program.outputs and call.program.outputs[: len(call.variables)],
    )
