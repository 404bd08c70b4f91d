"""The Python API: the same answers for a test or a notebook, in the caller's own process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from statelint import config, rules
from statelint.diagnostics import Diagnostic, Location, Severity
from statelint.model.names import Names
from statelint.model.trace import ProbeSite, StepTrace
from statelint.probe.declare import Where, caller


def trace(
    step: Callable[..., Any],
    state: Any,
    *args: Any,
    state_args: Sequence[Any] = (),
    state_argnum: int | Sequence[int] = 0,
    state_returns: Where = None,
    returns: Where = None,
    donate: int | str | Sequence[int | str] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    x64: bool = False,
    mesh: int | Mapping[str, int] | None = None,
    restore: Literal["orbax", "flax"] | None = None,
    compile: bool = False,
    measure: bool = False,
) -> StepTrace:
    """Trace a step abstractly: nothing is compiled and nothing allocated, unless it is asked for.

    What is a counter and what a state say the names of the nearest pyproject.toml to the caller's file.

    Args:
        step: a function, plain, jitted or partial, that takes the state and gives back the next one.
        state: the state, or a factory of it; leaves may be arrays, placeholders, or JAX's notation
            (``"f32[16,8]"``).
        args: the step's other arguments, in their order and in the same forms.
        state_args: the factory's arguments.
        state_argnum: which positional argument of the step the state is; several for a state that is a tuple.
        state_returns: where the state stands in the factory's result; all of it when left out.
        returns: where the state stands in the step's result; found by its treedef when left out.
        donate: which arguments a plain step will be jitted to donate, by position or name.
        static_argnames: which arguments a plain step will be jitted to hold static.
        x64: trace with 64-bit types enabled.
        mesh: how many devices the step needs, or the sizes of its mesh's axes; they must be there already.
        restore: take the state through a real checkpoint of this library, in place of a strong copy of it.
        compile: compile the step, and read placements and donated bytes from the programs.
        measure: run the steps for real on zeros, too.

    Returns:
        what the step does to the state, leaf by leaf, and how many executables a loop and a restore cost.

    Raises:
        Exception: whatever the step raises on this state.
    """
    from statelint.probe.tracer import trace as facts_of

    facts = facts_of(
        step,
        state,
        args,
        state_args=state_args,
        state_argnum=state_argnum,
        state_returns=state_returns,
        returns=returns,
        donate=donate,
        static_argnames=static_argnames,
        x64=x64,
        mesh=mesh,
        restore=restore,
        compile=compile,
        measure=measure,
    )
    name = getattr(step, "__name__", None) or type(step).__name__
    path, line = caller()
    site = ProbeSite(name, Location(path, line))
    settings = config.load(rules.names(), start=path)
    names = Names(settings.state_names, settings.counter_names)
    return msgspec.convert({"probe": msgspec.to_builtins(site), **facts}, StepTrace).named(names)


def check(step: Callable[..., Any], state: Any, *args: Any, **options: Any) -> list[Diagnostic]:
    """What the rules that are on by default say of a step. Arguments are those of `trace`.

    Raises:
        Exception: whatever the step raises on this state.
    """
    found = rules.in_trace(trace(step, state, *args, **options))
    on = {code for code, module in rules.load().items() if module.rule.default}
    return sorted((finding for finding in found if finding.code in on), key=lambda finding: finding.sort_key)


def assert_stable(step: Callable[..., Any], state: Any, *args: Any, **options: Any) -> None:
    """Assert that a step gives back the state it is given. Arguments are those of `trace`.

    Raises:
        AssertionError: with every finding that is a warning or an error, and the executables that it costs.
        Exception: whatever the step raises on this state.
    """
    __tracebackhide__ = True
    found = [finding for finding in check(step, state, *args, **options) if finding.severity is not Severity.INFO]
    if found:
        lines = [f"{_place(finding.location)}: {finding.code} {finding.message}" for finding in found]
        raise AssertionError("\n".join(["the step does not give back the state it was given:", *lines]))


def _place(at: Location) -> str:
    return f"{config.shown(at.path)}:{at.line}"
