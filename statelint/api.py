"""The Python API: the same answers for a test or a notebook, in the caller's own process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from statelint import baseline, config, rules
from statelint.config import Config
from statelint.diagnostics import Diagnostic, Location
from statelint.inputs import Comments, Texts
from statelint.model.trace import ProbeSite, StepTrace
from statelint.options import Options
from statelint.probe.declare import Where, caller
from statelint.report.base import counted
from statelint.scope import Scope
from statelint.selectors import did_you_mean


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

    A small state is made for real where its trace leaves open where leaves land, or which of them share a buffer.

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
    site = ProbeSite(_name(step), Location(*caller()))
    return msgspec.convert({"probe": msgspec.to_builtins(site), **facts}, StepTrace).named(_settings().names)


def check(
    step: Callable[..., Any], state: Any, *args: Any, ignore: Sequence[str] = (), **options: Any
) -> list[Diagnostic]:
    """What the rules say of a step, by the nearest pyproject.toml to the caller's file.

    Args:
        step: as for `trace`, and so are the state, ``args`` and ``options``.
        ignore: rules not to run besides those of the configuration: codes, prefixes of codes or names.

    Raises:
        TypeError: `trace` has no such option.
        UsageError: ``ignore`` names no rule.
        Exception: whatever the step raises on this state.
    """
    return _check("check", step, state, args, ignore, options)


def assert_stable(step: Callable[..., Any], state: Any, *args: Any, ignore: Sequence[str] = (), **options: Any) -> None:
    """Assert that nothing is found in a step and its state. Arguments are those of `check`.

    Raises:
        AssertionError: with every finding that fails a run: a warning or an error, unless ``fail-on`` says otherwise.
        Exception: as `check`.
    """
    __tracebackhide__ = True
    fail_on = _settings().fail_on
    checked = _check("assert_stable", step, state, args, ignore, options)
    found = [finding for finding in checked if finding.fails(fail_on)]
    if found:
        what = f"{counted(len(found), 'finding')} in the state of {_name(step)}:"
        pages = [f"more: statelint rule {code}" for code in sorted({finding.code for finding in found})]
        raise AssertionError("\n".join([what, *map(_line, found), *pages]))


def _check(
    caller_name: str,
    step: Callable[..., Any],
    state: Any,
    args: Sequence[Any],
    ignore: Sequence[str],
    options: Mapping[str, Any],
) -> list[Diagnostic]:
    """What is left of what the rules say, when the configuration, comments and the baseline have had their say."""
    known = trace.__kwdefaults__ or {}
    for name in options:
        if name not in known:
            raise TypeError(f"{caller_name}() got an unexpected keyword argument {name!r}{did_you_mean(name, known)}")
    settings, comments = _settings(), Comments(Texts(()))
    scope = Scope(settings, Options(ignore=tuple(ignore)), dashes="")
    said = filter(scope.holds, rules.in_trace(trace(step, state, *args, **options)))
    found = [scope.weighed(finding) for finding in said if not comments.silence(finding)]
    return sorted(baseline.load(settings).beyond(found), key=lambda finding: finding.sort_key)


def _settings() -> Config:
    """The configuration that holds for the caller's file."""
    return config.load(rules.names(), start=caller()[0])


def _name(step: Callable[..., Any]) -> str:
    return getattr(step, "__name__", None) or type(step).__name__


def _line(finding: Diagnostic) -> str:
    at = finding.location
    return f"{config.shown(at.path)}:{at.line}: {finding.code} [{finding.severity.value}] {finding.message}"
