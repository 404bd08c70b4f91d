"""Runs a step for real and counts what XLA compiles: the truth that predictions are held to.

It knows nothing of how statelint reads code or traces steps. It uses public JAX only, and counts the
durations that `jax.monitoring` reports: a call that hands a program to the backend has made a new executable,
whatever the caches say of themselves.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import re
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CALLS = 5
PATIENCE = 14

DONATED_TWICE = ("Attempt to donate the same buffer twice", "previously donated in the same call")
"""What JAX says of a buffer that it is given twice, and once to keep."""

"""A loop that still compiles at this call compiles at every call."""

_EVENTS = {
    "/jax/core/compile/jaxpr_trace_duration": "traces",
    "/jax/core/compile/backend_compile_duration": "compiles",
}
_counts = {"traces": 0, "compiles": 0}


def _listen(event: str, duration: float, **_: Any) -> None:
    if event in _EVENTS:
        _counts[_EVENTS[event]] += 1


jax.monitoring.register_event_duration_secs_listener(_listen)


@dataclasses.dataclass(frozen=True)
class Reality:
    """What JAX did.

    Attributes:
        loop: executables of a plain loop; None when every call made a new one.
        restore: how many more the first restored state made; 0 when every call makes one anyway.
        traces: jaxprs traced by each call of the loop, the jitted functions inside it among them.
        compiles: programs compiled by each call of the loop. One of them is the step's; others are eager operations
            that it does while it is traced, or what cuts an array into the parts of several devices.
        error: what the loop raised, led by the number of the call.
        donation_error: the first call refused to donate the state. The loop was then measured over a copy of
            the state in which no two leaves share a buffer.
        results: the leaves of what each call of the loop returned, copied to the host.
    """

    loop: int | None
    restore: int
    traces: tuple[int, ...]
    compiles: tuple[int, ...]
    error: str | None = None
    donation_error: str | None = None
    results: tuple[tuple[Any, ...], ...] = dataclasses.field(default=(), repr=False)


def measure(
    step: Callable[..., Any],
    state: Any,
    args: Sequence[Any] = (),
    *,
    state_args: Sequence[Any] = (),
    state_argnum: int | Sequence[int] = 0,
    returns: int | str | Sequence[int | str] | None = None,
    x64: bool = False,
    calls: int = CALLS,
) -> Reality:
    """Run a loop that feeds the state back, then restore it and run on until nothing new compiles.

    `state` is a state or a factory of it; arguments are values or JAX's notation of an array (`"f32[16,8]"`).
    Several `state_argnum` are those of a state that is a tuple. Under nnx the step changes the state in place.
    """
    with _x64(x64):
        make = _factory(state, concrete(state_args))
        loop = _Loop(step, concrete(tuple(args)), state_argnum, returns)
        measured = loop.run(make(), calls)
        if measured.error is None or not any(text in measured.error for text in DONATED_TWICE):
            return measured
        jax.clear_caches()
        apart = loop.run(_unshared(make()), calls)
        return dataclasses.replace(apart, error=measured.error, donation_error=measured.error)


def measure_probe(probe: Any, calls: int = CALLS) -> Reality:
    """Measure what a declared probe declares."""
    return measure(
        probe.step,
        probe.state,
        probe.args,
        state_args=probe.state_args,
        state_argnum=probe.state_argnum,
        returns=probe.returns,
        x64=probe.x64,
        calls=calls,
    )


def executables(step: Callable[..., Any], states: Sequence[Any], args: Sequence[Any] = ()) -> int:
    """How many executables a series of states costs, each given to the step once."""
    call = jitted(step)
    arguments = concrete(tuple(args))
    total = 0
    for state in states:
        with _counted() as counts:
            call(state, *arguments)
        total += counts["compiles"]
    return total


def measure_call(function: Callable[[], Any]) -> tuple[int, str | None]:
    """How many executables a function costs in all, and what it raises."""
    jax.clear_caches()
    error = None
    with _counted() as counts:
        try:
            jax.block_until_ready(function())
        except Exception as raised:
            error = f"{type(raised).__name__}: {' '.join(str(raised).split())}"
    return counts["compiles"], error


def jitted(step: Callable[..., Any]) -> Callable[..., Any]:
    """The step as it is when it is jitted, and under a new `jax.jit` when it is not."""
    if is_jitted(step):
        return step
    return jax.jit(lambda *args: step(*args))


def is_jitted(step: Any) -> bool:
    """`jax.jit` made it, or `equinox.filter_jit`, or it is a partial of such a function."""
    if isinstance(step, functools.partial):
        return is_jitted(step.func)
    return isinstance(step, jax.stages.Wrapped) or _is_equinox(step) or _is_nnx(step)


def restored(state: Any, *, python_numbers: bool = True) -> Any:
    """The state as a checkpoint gives it back: the same values, every traced leaf strong and uncommitted."""

    def restore(leaf: Any) -> Any:
        if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return leaf
        numbers = (bool, int, float, complex) if python_numbers else ()
        if isinstance(leaf, (jax.Array, np.ndarray, np.generic, *numbers)):
            return jnp.asarray(np.array(leaf))
        return leaf

    return jax.tree.map(restore, state)


def restored_in_place(state: Any) -> Any:
    """An nnx state, its Variables holding what a checkpoint gives back."""
    from flax import nnx

    graph, values = nnx.split(state)
    return nnx.merge(graph, restored(values))


def concrete(spec: Any) -> Any:
    """Arrays for what is written in JAX's notation or as `module:name`; anything else is itself."""
    if isinstance(spec, str):
        return _array(spec)
    if type(spec) in (tuple, list):
        return type(spec)(concrete(part) for part in spec)
    if type(spec) is dict:
        return {key: concrete(part) for key, part in spec.items()}
    return spec


class _Loop:
    """A jitted step, its arguments, and where the state stands among them and in the result."""

    def __init__(
        self,
        step: Callable[..., Any],
        args: tuple[Any, ...],
        argnum: int | Sequence[int],
        returns: int | str | Sequence[int | str] | None,
    ) -> None:
        jax.clear_caches()
        self.call = jitted(step)
        self.python_numbers = not _is_equinox(step)
        self.args = args
        self.argnums = [argnum] if isinstance(argnum, int) else list(argnum)
        self.in_place = _is_nnx(step)
        self.returns = returns

    def run(self, state: Any, calls: int) -> Reality:
        traces: list[int] = []
        compiles: list[int] = []
        results: list[tuple[Any, ...]] = []
        while len(compiles) < calls or (all(compiles) and len(compiles) < max(calls, PATIENCE)):
            try:
                state, counts, result = self.once(state)
            except Exception as error:
                text = f"call {len(compiles) + 1}: {type(error).__name__}: {' '.join(str(error).split())}"
                return Reality(
                    _calls_that_compile(compiles), 0, tuple(traces), tuple(compiles), text, None, tuple(results)
                )
            traces.append(counts["traces"])
            compiles.append(counts["compiles"])
            results.append(result)
        endless = all(compiles)
        return Reality(
            loop=None if endless else _calls_that_compile(compiles),
            restore=0 if endless else self.after_restore(state),
            traces=tuple(traces),
            compiles=tuple(compiles),
            results=tuple(results),
        )

    def after_restore(self, state: Any) -> int:
        in_place = self.in_place
        state = restored_in_place(state) if in_place else restored(state, python_numbers=self.python_numbers)
        for calls in range(PATIENCE):
            state, counts, _result = self.once(state)
            if not counts["compiles"]:
                return calls
        raise AssertionError("the restored state compiles at every call, the state of the loop did not")

    def once(self, state: Any) -> tuple[Any, dict[str, int], tuple[Any, ...]]:
        arguments = list(self.args)
        for number, part in zip(self.argnums, [state] if len(self.argnums) == 1 else state, strict=True):
            arguments.insert(number, part)
        before = state
        with _counted() as counts:
            output = self.call(*arguments)
            jax.block_until_ready([leaf for leaf in jax.tree.leaves(output) if isinstance(leaf, jax.Array)])
        return (
            self.state_in(output, before),
            counts,
            tuple(_on_host(leaf) for leaf in jax.tree.leaves(output)),
        )

    def state_in(self, output: Any, before: Any) -> Any:
        if self.in_place:
            return before
        if len(self.argnums) > 1:
            return tuple(output[: len(self.argnums)])
        if self.returns is not None:
            steps = self.returns if isinstance(self.returns, (list, tuple)) else (self.returns,)
            for key in steps:
                named = isinstance(key, str) and not isinstance(output, dict)
                output = getattr(output, key) if named else output[key]
            return output
        parts = list(output.values()) if isinstance(output, dict) else output
        parts = list(parts) if isinstance(parts, (list, tuple)) else []
        for alike in (_same_structure, _same_type):
            if alike(before, output):
                return output
            found = [part for part in parts if alike(before, part)]
            if len(found) == 1:
                return found[0]
        return output


def _calls_that_compile(compiles: Sequence[int]) -> int:
    return sum(map(bool, compiles))


def _same_structure(one: Any, other: Any) -> bool:
    try:
        return bool(jax.tree.structure(one) == jax.tree.structure(other))
    except Exception:  # comparing static fields runs their own `==`
        return False


def _same_type(one: Any, other: Any) -> bool:
    return type(one) is type(other)


def _is_equinox(step: Any) -> bool:
    if isinstance(step, functools.partial):
        return _is_equinox(step.func)
    return type(step).__module__.partition(".")[0] == "equinox"


def _is_nnx(step: Any) -> bool:
    """What `nnx.jit` gives back; before flax 0.11 a function that keeps the jit as an attribute."""
    return type(step).__module__.startswith("flax.nnx") or hasattr(getattr(step, "inner", None), "trace")


def _factory(state: Any, args: Any) -> Callable[[], Any]:
    """A state that is a leaf and callable is a factory."""
    if callable(state) and jax.tree_util.all_leaves([state]):
        return lambda: state(*args)
    return lambda: state


def _unshared(state: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.array(leaf, copy=True) if isinstance(leaf, jax.Array) else leaf, state)


def _on_host(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array):
        return leaf
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.array(leaf, copy=True)


@contextlib.contextmanager
def _counted() -> Iterator[dict[str, int]]:
    start = dict(_counts)
    counts: dict[str, int] = {}
    yield counts
    counts.update({name: _counts[name] - start[name] for name in _counts})


def _x64(enabled: bool) -> contextlib.AbstractContextManager[Any]:
    if not enabled:
        return contextlib.nullcontext()
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    from jax.experimental import enable_x64

    return enable_x64()


_NOTATION = re.compile(r"(?P<dtype>[a-z]+\d*|key<\w+>)\[(?P<shape>[\d,\s]*)\]")
_LETTERS = {"f": "float", "i": "int", "u": "uint", "c": "complex", "bf": "bfloat"}


def _array(text: str) -> Any:
    """`f32[16,8]` as ones, `key<fry>[]` as a key, `module:name` as what it names."""
    match = _NOTATION.fullmatch(text)
    if match is None:
        module, _, name = text.partition(":")
        return getattr(importlib.import_module(module), name)
    shape = tuple(int(size) for size in match["shape"].split(",") if size.strip())
    if match["dtype"].startswith("key<"):
        key = jax.random.key(0)
        return jnp.broadcast_to(key, shape) if shape else key
    short = re.fullmatch(r"([a-z]+)(\d+)", match["dtype"])
    long = _LETTERS.get(short[1], short[1]) + short[2] if short else match["dtype"]
    return jnp.ones(shape, jnp.dtype(long))
