"""Leaves that share a buffer: what the probe says of a donating step is what a real one does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name

from statelint import check, trace
from statelint.diagnostics import Severity
from statelint.probe import build
from tests.reality import measure
from tests.statelint_cli import lint

NUMBERS = np.ones(3, np.float32)

SAME: dict[str, Callable[[Any], Any]] = {
    "asarray": jnp.asarray,
    "astype": lambda x: x.astype(x.dtype),
    "broadcast_arrays": lambda x: jnp.broadcast_arrays(x, x)[0],
    "checkpoint": lambda x: jax.checkpoint(lambda y: y)(x),
    "checkpoint of stop_gradient": lambda x: jax.checkpoint(jax.lax.stop_gradient)(x),
    "checkpoint_name": lambda x: checkpoint_name(x, "x"),
    "cond": lambda x: jax.lax.cond(True, lambda y: y, lambda y: y, x),
    "conj": jnp.conj,
    "constraint": lambda x: jax.lax.with_sharding_constraint(x, jax.sharding.SingleDeviceSharding(jax.devices()[0])),
    "device_put": jax.device_put,
    "expand_dims": lambda x: jnp.expand_dims(x, ()),
    "jit": lambda x: jax.jit(lambda y: y)(x),
    "moveaxis": lambda x: jnp.moveaxis(x, 0, 0),
    "positive": jnp.positive,
    "ravel": jnp.ravel,
    "real": jnp.real,
    "relu-like": lambda x: _custom(x),
    "reshape": lambda x: x.reshape(x.shape),
    "scan": lambda x: jax.lax.scan(lambda carry, _: (carry, None), x, None, length=0)[0],
    "slice": lambda x: x[:],
    "squeeze": jnp.squeeze,
    "stop_gradient": jax.lax.stop_gradient,
    "sum of nothing": lambda x: x + 0,
    "while": lambda x: jax.lax.while_loop(lambda _: False, lambda y: y, x),
}


@jax.custom_jvp
def _custom(x: Any) -> Any:
    return jax.lax.stop_gradient(x)


_custom.defjvp(lambda primals, tangents: (_custom(*primals), tangents[0]))


def double(state: Any) -> Any:
    return jax.tree.map(lambda x: x * 2, state)


def holds(step: Any, state: Any, *args: Any, **options: Any) -> bool:
    """Whether the probe says that donation raises; real jit says the same."""
    said = any(
        each.code == "SL401" and each.severity is Severity.ERROR for each in check(step, state, *args, **options)
    )
    real = measure(step, state, args, **options, calls=2)
    assert said == (real.error is not None), real.error
    assert real.error is None or "donate" in real.error
    return said


@pytest.mark.parametrize("name", SAME)
def test_what_gives_the_same_buffer_back(name: str) -> None:
    def create() -> Any:
        x = jnp.ones(3)
        return {"x": x, "y": SAME[name](x)}

    holds(jax.jit(double, donate_argnums=0), create)


def test_one_numpy_array_is_two_buffers() -> None:
    step = jax.jit(double, donate_argnums=0)
    assert not holds(step, lambda: {"x": jnp.asarray(NUMBERS), "y": jnp.asarray(NUMBERS)})


def test_a_key_and_its_data_are_one_buffer() -> None:
    def create() -> Any:
        key = jax.random.key(0)
        return {"key": key, "data": jax.random.key_data(key)}

    def step(state: Any) -> Any:
        return {"key": jax.random.split(state["key"])[0], "data": state["data"] + 1}

    assert holds(jax.jit(step, donate_argnums=0), create)


def test_a_state_too_large_to_be_made_may_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "SMALL", 4)

    def create() -> Any:
        x = jnp.ones(3)
        return {"x": x, "y": jax.lax.stop_gradient(x), "z": x + 1}

    (finding,) = check(jax.jit(double, donate_argnums=0), create)
    assert (finding.code, finding.severity) == ("SL401", Severity.WARNING)
    assert finding.message.startswith("state['x'] and state['y'] may share one buffer")


def test_a_factory_that_cannot_be_called_for_real_leaves_it_open() -> None:
    def create(x: Any) -> Any:
        if not isinstance(x, jax.core.Tracer):
            raise RuntimeError("only traced")
        return {"x": x, "y": jnp.ravel(x)}

    seen = trace(double, create, state_args=("f32[3]",))
    assert [leaf.shares_guessed for leaf in seen.leaves] == [True, True]


def shared() -> Any:
    zeros = jnp.zeros(3)
    return {"a": zeros, "b": zeros}


def replaces(state: Any) -> Any:
    return {"a": state["a"] + 1, "b": jnp.ones(3)}


def test_what_jit_drops_is_not_given() -> None:
    assert not holds(jax.jit(replaces, donate_argnums=0), shared)
    assert holds(jax.jit(replaces, donate_argnums=0, keep_unused=True), shared)
    assert holds(jax.jit(lambda s: {"a": s["a"] + 1, "b": s["b"]}, donate_argnums=0), shared)


def two(params: Any, opt_state: Any) -> Any:
    return double(params), double(opt_state)


@pytest.mark.parametrize(("donated", "expected"), [(0, True), (1, False)])
def test_a_part_that_is_not_donated_may_share(donated: int, expected: bool) -> None:
    def create() -> Any:
        return shared(), {"m": jnp.zeros(3)}

    assert holds(jax.jit(two, donate_argnums=donated), create, state_argnum=(0, 1)) == expected


@pytest.mark.parametrize("donated", [0, 1])
def test_two_parts_that_share_and_one_donated(donated: int) -> None:
    def create() -> Any:
        zeros = jnp.zeros(3)
        return {"p": zeros}, {"m": zeros}

    assert holds(jax.jit(two, donate_argnums=donated), create, state_argnum=(0, 1))


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (jax.jit(lambda s, x: {"a": s["a"] + x}, donate_argnums=0), True),
        (jax.jit(lambda s, x: {"a": s["a"] + x}, donate_argnums=1), True),
        (jax.jit(lambda s, x: {"a": s["a"] + 1}, donate_argnums=0), False),
        (jax.jit(lambda s, x: {"a": s["a"] + 1}, donate_argnums=0, keep_unused=True), True),
        (jax.jit(lambda s, x: {"a": x * 2}, donate_argnums=0), False),
        (jax.jit(lambda s, x: {"a": s["a"] + x}), False),
    ],
)
def test_an_argument_that_is_a_leaf(step: Any, expected: bool) -> None:
    ones = jnp.ones(3)
    assert holds(step, {"a": ones}, ones) == expected


def test_an_argument_of_its_own_that_is_donated() -> None:
    ones = jnp.ones(3)
    (finding,) = check(jax.jit(lambda s, x: {"a": s["a"] + x}, donate_argnums=1), {"a": ones}, ones)
    assert finding.message == "state['a'] and the argument args[0] are one buffer: donating the argument raises"


SOURCE = """
import functools

import jax
import jax.numpy as jnp

from statelint import Probe


def init_state():
    params = {{"w": jnp.ones(3), "b": jnp.zeros(2)}}
    return {{"params": params, "target": jax.lax.stop_gradient(params)}}


@functools.partial(jax.jit, donate_argnames="state")
def update(state):
    return {result}


probe = Probe(step=update, state=init_state)
"""


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("jax.tree.map(lambda x: x * 0.9, state)", ["both"]),
        ('{"params": state["params"], "target": jax.tree.map(jnp.ones_like, state["target"])}', []),
    ],
)
def test_the_source_is_refuted_only_where_it_is_wrong(tmp_path: Path, result: str, expected: list[str]) -> None:
    file = tmp_path / "train.py"
    file.write_text(SOURCE.format(result=result))
    report = lint([file], cwd=tmp_path)
    assert [each["detector"] for each in report["diagnostics"] if each["code"] == "SL401"] == expected
