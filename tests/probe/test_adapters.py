"""What each library calls a step and a state."""

import functools
import inspect
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
import pytest
from flax import nnx

from statelint import Probe, check, trace
from statelint.model.trace import StepTrace
from tests.reality import measure


class Walker:
    def __init__(self, stride: float) -> None:
        self.stride = stride

    def reset(self, key: Any) -> Any:
        return {"x": jax.random.normal(key, (2,)), "n": jnp.zeros((), jnp.int32)}

    def step(self, state: Any, move: Any) -> Any:
        return {"x": state["x"] + self.stride * move, "n": state["n"] + 1}, move.sum()

    def __call__(self, state: Any, move: Any) -> Any:
        return self.step(state, move)


def walk(state: Any, move: Any, stride: float = 1.0) -> Any:
    return Walker(stride).step(state, move)


STEPS = {
    "function": walk,
    "jitted": jax.jit(walk),
    "partial": functools.partial(walk, stride=2.0),
    "jitted partial": jax.jit(functools.partial(walk, stride=2.0)),
    "partial of a jitted": functools.partial(jax.jit(walk, static_argnames="stride"), stride=2.0),
    "bound method": Walker(1.0).step,
    "jitted bound method": jax.jit(Walker(1.0).step),
    "callable": Walker(1.0),
    "jax partial": jax.tree_util.Partial(walk),
}


@pytest.mark.parametrize("name", STEPS)
def test_every_kind_of_callable_is_a_step(name: str) -> None:
    state = {"x": "f32[2]", "n": "i32[]"}
    seen = trace(STEPS[name], state, "f32[2]")
    assert (seen.adapter, seen.executables.loop, seen.executables.restore) == ("jax.jit", 1, 0)
    assert seen.donates is (False if "jit" in name else None)


def of(probe: Probe, **options: Any) -> StepTrace:
    names = ("state_args", "state_argnum", "state_returns", "returns", "donate", "static_argnames")
    given = {name: getattr(probe, name) for name in names}
    return trace(probe.step, probe.state, *probe.args, **given, **options)


def test_an_environment() -> None:
    seen = of(Probe.environment(Walker(1.0), ("f32[2]",), state_args=("key<fry>[]",)))
    assert [leaf.path for leaf in seen.leaves] == ["['n']", "['x']"]
    assert seen.executables.loop == 1


def test_where_the_state_stands_in_what_the_factory_gives() -> None:
    def reset() -> Any:
        return {"x": jnp.zeros(2), "n": jnp.zeros((), jnp.int32)}, jnp.ones(3)

    assert len(trace(walk, reset, "f32[2]", state_returns=0).leaves) == 2
    with pytest.raises(Exception, match="state_returns = 5: the factory's result has no 5"):
        trace(walk, reset, "f32[2]", state_returns=5)


def test_a_state_of_several_arguments() -> None:
    tx = optax.adam(1e-3)

    def train_step(batch: Any, params: Any, opt_state: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda p: (batch @ p).sum())(params)
        updates, opt_state = tx.update(gradient, opt_state)
        return loss, optax.apply_updates(params, updates), opt_state

    def create() -> Any:
        return jnp.ones(3), tx.init(jnp.ones(3))

    for returns in (None, (1, 2)):
        seen = trace(train_step, create, "f32[4,3]", state_argnum=(1, 2), returns=returns)
        assert [leaf.path for leaf in seen.leaves] == ["[0]", "[1][0].count", "[1][0].mu", "[1][0].nu"]
        assert (seen.executables.loop, seen.structure) == (1, ())


@pytest.mark.parametrize(
    ("make", "loop", "shares"),
    [
        (lambda: optax.adam(1e-3), 1, False),
        (lambda: optax.polyak_sgd(), 1, False),
        (lambda: optax.lbfgs(), 2, True),
        (lambda: optax.scale_by_backtracking_linesearch(4), 2, False),
        (lambda: optax.contrib.cocob(), 1, True),
    ],
)
def test_an_optimizer_alone(make: Any, loop: int, shares: bool) -> None:
    seen = of(Probe.optimizer(make(), params={"w": "f32[4,3]", "b": "f32[3]"}))
    assert seen.executables.loop == loop
    assert any(leaf.shares is not None for leaf in seen.leaves) == shares


def test_an_optimizer_with_a_loss() -> None:
    tx = optax.scale_by_zoom_linesearch(4)
    probe = Probe.optimizer(tx, params={"w": "f32[3]"}, loss=lambda params: (params["w"] ** 4).sum())
    assert of(probe).executables.loop == 2


class Counted(nnx.Module):
    def __init__(self, count: Any) -> None:
        self.w = nnx.Param(jnp.ones(3))
        self.inner = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
        self.count = count
        self.label = "a"


@nnx.jit
def count_up(module: Any) -> None:
    if isinstance(module.count, nnx.Variable):
        module.count.value = module.count.value + 1
    else:
        module.count += 1


class Calling(nnx.Module):
    def __init__(self) -> None:
        self.w = nnx.Param(jnp.ones(3))
        self.n_steps = 0

    def __call__(self) -> Any:
        self.n_steps += 1
        return self.w.value.sum()


@nnx.jit
def call(module: Any) -> Any:
    return module()


def test_an_attribute_that_a_method_changes_is_found_there() -> None:
    (finding,) = check(call, Calling)
    lines, first = inspect.getsourcelines(Calling)
    assert (finding.code, finding.location.line) == ("SL101", first + lines.index("        self.n_steps += 1\n"))


@nnx.jit
def relabel(module: Any) -> None:
    module.label += "b"


def test_an_attribute_of_an_nnx_module_is_one_executable_a_step() -> None:
    for state in (lambda: Counted(0), Counted(0)):
        seen = trace(count_up, state)
        assert (seen.adapter, seen.executables.loop) == ("flax.nnx.jit", None)
        (finding,) = check(count_up, state)
        assert (finding.code, finding.field) == ("SL101", "count")
        assert "nnx.jit compiles anew at every call" in finding.message
    (finding,) = check(relabel, lambda: Counted(nnx.Variable(jnp.zeros((), jnp.int32))))
    assert (finding.code, finding.field) == ("SL202", "label")
    assert measure(count_up, lambda: Counted(0), calls=3).loop is None


def test_a_variable_of_an_nnx_module_is_a_leaf() -> None:
    def create() -> Any:
        return Counted(nnx.Variable(jnp.zeros((), jnp.int32)))

    seen = trace(count_up, create)
    assert {leaf.path for leaf in seen.leaves} >= {"count", "w"}
    assert (seen.executables.loop, seen.executables.restore) == (1, 0)
    assert not check(count_up, create)
    assert measure(count_up, create, calls=3).loop == 1


def test_a_plain_step_of_an_nnx_state() -> None:
    def scale(module: Any) -> Any:
        module.w.value = module.w.value * 2
        return module

    seen = trace(scale, lambda: Counted(0))
    assert (seen.adapter, seen.donates, seen.executables.loop) == ("flax.nnx.jit", None, 1)


def test_equinox_holds_a_python_int_static() -> None:
    class Tally(eqx.Module):
        total: jax.Array
        steps: Any

    step = eqx.filter_jit(lambda tally: Tally(tally.total + 1, tally.steps + 1))
    assert trace(step, Tally(jnp.zeros(2), 0)).executables.loop is None
    assert trace(step, Tally(jnp.zeros(2), jnp.zeros((), jnp.int32))).executables.loop == 1
