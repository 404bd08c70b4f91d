"""The step, traced abstractly to the fixed point of its call keys.

Nothing is compiled and, but for a small state of which `build` must know more, nothing allocated. The step is
wrapped in a function of flat leaves that builds the state from tracers, as jit does, so that a class that validates
is met as jit meets it; what comes out is flattened inside the trace and carried to the next call as avals and a
treedef, until a call key repeats.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import jax

from statelint.probe import classes, frames, jaxprs, leaves, placement, spelling
from statelint.probe.adapters import Adapter, adapter_for, is_jit
from statelint.probe.blame import unwrap
from statelint.probe.build import ProbeError, build, pick
from statelint.probe.calls import Call, Stepper, state_of
from statelint.probe.flow import flow
from statelint.probe.jaxprs import size
from statelint.probe.states import State, is_aval

Facts = dict[str, Any]
"""What the model's `StepTrace` is decoded from, all but the probe's site."""

RESTLESS = 8
"""Calls in a row that may bring a new treedef or shape before the state is said to change at every call."""

LONGEST = 32
"""How many there may be of a step that is traced in no time."""

CHEAP = 20_000
"""The operations that are traced in them."""

Restore = Literal["orbax", "flax"]


@dataclasses.dataclass
class Loop:
    """The calls of a plain loop, up to its fixed point.

    Attributes:
        executables: how many it compiles; None: a new one every call.
        refused: the call that fails, which costs none, and its error.
        restored: the state that a checkpoint brings back, where it is a key of its own.
        added: how many executables it costs.
    """

    calls: list[Call]
    executables: int | None = None
    refused: Facts | None = None
    restored: State | None = None
    added: int = 0


def trace(
    step: Callable[..., Any],
    state: Any,
    args: Sequence[Any] = (),
    *,
    state_args: Sequence[Any] = (),
    state_argnum: int | Sequence[int] = 0,
    state_returns: Any = None,
    returns: Any = None,
    donate: Any = None,
    static_argnames: Any = None,
    x64: bool = False,
    mesh: int | Mapping[str, int] | None = None,
    restore: Restore | None = None,
    compile: bool = False,
    measure: bool = False,
) -> Facts:
    """Trace a step to the fixed point of its call keys.

    Args:
        restore: take the state through a real checkpoint of this library, in place of a strong copy of it.
        compile: compile the calls, and read placements and donated bytes from the programs.
        measure: run the steps for real on zeros, too.

    All else are arguments of `statelint.Probe`.

    Raises:
        ProbeError: the step is no function, or its result holds no state.
        Exception: whatever the user's code raises at the first call.
    """
    if not callable(step):
        raise ProbeError(f"the step is no function: {spelling.short(step)}")
    if isinstance(args, str) or not isinstance(args, Sequence):
        raise ProbeError(f"args is no list or tuple of arguments: {spelling.short(args)}")
    argnums = [state_argnum] if isinstance(state_argnum, int) else list(state_argnum)
    if not all(0 <= number <= len(args) + len(argnums) - 1 for number in argnums):
        raise ProbeError(f"state_argnum = {state_argnum}: the step is given {len(args)} other arguments")
    wanted = devices_of(mesh)
    if wanted > 1 and wanted > jax.device_count():  # counting starts the backend, which takes its time
        raise ProbeError(f"mesh = {mesh!r} needs {wanted} devices, and there is {jax.device_count()}")
    with _settings(x64):
        step = _jitted(step, donate, static_argnames)
        tracer = Tracer(step, state, args, state_args, argnums, state_returns, returns, is_compiling=compile)
        try:
            return tracer.facts(restore=restore, measure=measure)
        finally:
            flow.cache_clear()
            jaxprs.forget()
            frames.forget()


def devices_of(mesh: int | Mapping[str, int] | None) -> int:
    """How many devices a mesh needs: given as their number, or as the sizes of its axes."""
    return 1 if mesh is None else mesh if isinstance(mesh, int) else math.prod(mesh.values())


def _jitted(step: Callable[..., Any], donate: Any, static_argnames: Any) -> Callable[..., Any]:
    """A plain step as it will be jitted; as it is where nothing is said of that."""
    if donate is None and not static_argnames:
        return step
    if any(is_jit(function) for function in unwrap(step)):
        raise ProbeError("the step is jitted already: `donate` and `static_argnames` belong to its own jit")
    donated = [] if donate is None else [donate] if isinstance(donate, int | str) else list(donate)
    static = [static_argnames] if isinstance(static_argnames, str) else list(static_argnames or ())
    jitted: Callable[..., Any] = jax.jit(
        step,
        donate_argnums=[argument for argument in donated if isinstance(argument, int)] or None,
        donate_argnames=[argument for argument in donated if isinstance(argument, str)] or None,
        static_argnames=static or None,
    )
    return jitted


@contextlib.contextmanager
def _settings(x64: bool) -> Iterator[None]:
    """The types asked for; and leaves of a state that was traced may be kept, which a check for leaks forbids."""
    wanted = {"jax_enable_x64": x64 or bool(jax.config.jax_enable_x64), "jax_check_tracer_leaks": False}
    before = {name: getattr(jax.config, name) for name in wanted}
    for name, value in wanted.items():
        jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


class Tracer:
    """One probe: its state built, its step ready, and the calls between.

    Attributes:
        unrestored: what went wrong with the checkpoint.
    """

    unrestored: Facts | None = None

    def __init__(
        self,
        step: Callable[..., Any],
        state: Any,
        args: Sequence[Any],
        state_args: Sequence[Any],
        argnums: Sequence[int],
        state_returns: Any,
        returns: Any,
        *,
        is_compiling: bool = False,
    ) -> None:
        self.step = step
        self.state = state
        self.args = leaves.resolve_notation(list(args))
        self.state_args = state_args
        self.state_returns = state_returns
        self.built = self.rebuilt()
        self.adapter = self.built.adapter
        self.stepper = Stepper(step, self.adapter, self.args, argnums, returns, is_compiling=is_compiling)
        self.first = state_of(self.adapter, self.built.flat, self.built.avals, self.built.placed)
        self.classes = list(classes.faults(self.first.root)) if self.adapter.name != "flax.nnx.jit" else []

    def rebuilt(self) -> Any:
        """The state, built anew."""
        return build(self.state, self.state_args, self.state_returns, self._adapter)

    def picked(self, result: Any) -> Any:
        """The state in what the factory gives back."""
        return pick(result, self.state_returns, "state_returns", "the factory's result")

    def _adapter(self, tree: Any) -> Adapter:
        return adapter_for(unwrap(self.step), tree)

    def facts(self, *, restore: Restore | None = None, measure: bool = False) -> Facts:
        """All that the model's `StepTrace` asks for."""
        from statelint.probe import facts, measuring

        # jit refuses a state with an invalid leaf as a whole: there is no call to trace.
        loop = Loop([], executables=0) if self.is_refused else self.loop()
        self._restore(loop, restore)
        found = facts.Words(self, loop).facts()
        if measure and not self.is_refused:
            predicted = max(loop.executables or 0, loop.added)
            found["measured"] = measuring.measure(self, predicted, None if self.unrestored else restore)
        return found

    @property
    def is_refused(self) -> bool:
        """Whether some leaf is nothing that jit takes."""
        return self.adapter.name == "jax.jit" and not all(map(is_aval, self.first.values))

    def loop(self) -> Loop:
        """The calls of a plain loop."""
        loop = Loop([])
        seen, restless, traced = [self.first], 0, 0
        while restless < RESTLESS or (restless < LONGEST and traced < CHEAP):
            try:
                call = self.stepper.call(seen[-1])
            except placement.RefusedError as error:
                return _refused(loop, str(error))
            except Exception as error:
                # A first call that fails is the probe's own fault, but for a class that cannot be put together.
                if not loop.calls and not any(fault["fault"] == "raises" for fault in self.classes):
                    raise
                return _refused(loop, frames.one_line(error))
            loop.calls.append(call)
            if clash := call.before.clash(call.after):
                return _refused(loop, clash)
            if any(call.after.key_equals(state) for state in seen):
                loop.executables = len(seen)
                break
            restless = 0 if call.before.comes_to_rest(call.after) else restless + 1
            traced += size(call.jaxpr.jaxpr)
            seen.append(call.after)
        return loop

    def _restore(self, loop: Loop, how: Restore | None) -> None:
        """What the first restored state adds to the loop."""
        if loop.executables is None or loop.refused or not loop.calls:
            return
        final = loop.calls[-1].after
        known, state = [call.before for call in loop.calls], self._restored(final, how)
        loop.restored = state
        while not any(state.key_equals(other) for other in known):
            known.append(state)
            loop.added += 1
            if loop.added > len(state) + RESTLESS:
                break
            try:
                state = self.stepper.call(state).after
            except Exception as error:
                self.unrestored = {"library": how, "error": frames.one_line(error), "by_step": True}
                break

    def _restored(self, final: State, how: Restore | None) -> State:
        if how is not None:
            from statelint.probe import restoring

            try:
                return restoring.through(how, final, self.adapter)
            except restoring.Refused as refused:
                self.unrestored = {"library": how, "error": str(refused), "keys": refused.keys}
        return self.stepper.settled(final.restored()) if self.classes else final.restored()


def _refused(loop: Loop, error: str) -> Loop:
    calls = len(loop.calls)
    return Loop(loop.calls, executables=calls, refused={"call": calls + 1, "error": error})
