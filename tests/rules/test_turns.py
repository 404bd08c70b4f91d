"""What the rules say of steps and the states they are given: how the two find each other, and what differs."""

from __future__ import annotations

import textwrap
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from tests.rules.test_source_rules import lint, said

HEAD = """
import collections, brax.envs.base
import optax
from flax.core import freeze, unfreeze, FrozenDict
"""


def drifts(source: str) -> list[tuple[str, str | None]]:
    codes = ("SL202", "SL205", "SL301", "SL302", "SL305", "SL702")
    return [each for each in said(HEAD + textwrap.dedent(source)) if each[0] in codes]


class TestPairs:
    """The ways in which a step and its first state stand together."""

    def test_scan(self) -> None:
        assert drifts("""
            def total(xs):
                def body(carry, x):
                    return {"sum": carry["sum"] + x, "seen": x}, None
                return lax.scan(body, {"sum": jnp.zeros(())}, xs)
        """) == [("SL301", "['seen']")]

    def test_while_loop_with_a_lambda(self) -> None:
        assert drifts("""
            def count():
                init = (jnp.zeros((), jnp.int32), jnp.ones(3))
                return lax.while_loop(lambda c: c[0] < 9, lambda c: (c[0] + 1.0, c[1]), init)
        """) == [("SL302", "[0]")]

    def test_fori_loop_by_keyword(self) -> None:
        assert drifts("""
            def total(xs):
                def body(i, carry):
                    return {"n": carry["n"] * 0.5}
                return lax.fori_loop(0, 9, body, init_val={"n": jnp.zeros((), jnp.int32)})
        """) == [("SL302", "['n']")]

    def test_a_loop_in_python(self) -> None:
        assert drifts("""
            @jax.jit
            def train_step(state, x):
                return {"w": state["w"] - x, "loss": jnp.sum(x)}, x
            def main(data):
                state = {"w": jnp.ones(3)}
                for x in data:
                    state, metrics = train_step(state, x)
        """) == [("SL301", "['loss']")]

    def test_a_jit_beside_the_function(self) -> None:
        assert drifts("""
            def update(state, x):
                return dict(w=state["w"] - x, step=state["step"] + 0.5)
            fast = jax.jit(update)
            state = {"w": jnp.ones(3), "step": jnp.zeros((), "int32")}
            state = fast(state, 1.0)
        """) == [("SL302", "['step']")]

    def test_init_and_update_of_a_transformation(self) -> None:
        assert drifts("""
            class TraceState(typing.NamedTuple):
                count: jax.Array
                norm: typing.Optional[jax.Array]
            def trace():
                def init_fn(params):
                    return TraceState(count=jnp.zeros([], jnp.int32), norm=None)
                def update_fn(updates, state, params=None):
                    return updates, TraceState(state.count + 1, optax.global_norm(updates))
                return optax.GradientTransformation(init_fn, update_fn)
        """) == [("SL301", "norm")]

    def test_reset_and_step_of_an_environment(self) -> None:
        assert drifts("""
            from brax.envs.base import State
            class Hopper:
                def reset(self, rng):
                    info = {"steps": jnp.zeros(()), "rng": rng}
                    return State(None, jnp.zeros(3), jnp.zeros(()), jnp.zeros(()), {}, info)
                def step(self, state, action):
                    state.info["last_act"] = action
                    return state.replace(obs=action)
        """) == [("SL301", "info['last_act']")]

    def test_metrics_updated_in_place(self) -> None:
        assert drifts("""
            from brax.envs.base import State
            class Ant:
                def reset(self, rng):
                    metrics = {"reward": jnp.zeros(())}
                    return State(None, jnp.zeros(3), jnp.zeros(()), jnp.zeros(()), metrics, {})
                def step(self, state, action):
                    state.metrics.update(reward=jnp.sum(action), cost=jnp.sum(action))
                    return state.replace(obs=action)
        """) == [("SL301", "metrics['cost']")]

    def test_an_init_beside_a_step(self) -> None:
        assert drifts("""
            def init(position):
                return {"position": position, "accepted": jnp.zeros((), jnp.int32)}
            def step(key, state):
                return {"position": state["position"], "accepted": state["accepted"] + 1.0}, {"rate": 0.1}
        """) == [("SL302", "['accepted']")]

    def test_an_init_that_does_not_fit(self) -> None:
        assert (
            drifts("""
            def init_adam(params):
                return {"mu": params, "nu": jax.tree.map(jnp.zeros_like, params)}
            def sgd_step(state, grads):
                return {"mu": state["mu"], "velocity": grads, "nu": state["velocity"]}
        """)
            == []
        )

    def test_declared_probe(self) -> None:
        assert drifts("""
            from statelint import Probe
            def start():
                return {"w": jnp.ones(3)}
            def advance(x):
                return {"w": x["w"], "v": x["w"]}
            probe = Probe(step=advance, state=start)
        """) == [("SL301", "['v']")]


class TestLoops:
    """What a loop of jax.lax makes of a carry whose dtype changes."""

    @pytest.mark.parametrize(
        ("first", "code"),
        [
            ("jnp.zeros((), jnp.int32)", ["SL302"]),
            ("jnp.array(0, jnp.int32)", ["SL302"]),
            ("jnp.array(0)", []),
            ("0", []),
        ],
    )
    def test_a_weak_carry_is_promoted_and_a_strong_one_refused(self, first: str, code: list[str]) -> None:
        source = f"def run(c):\n    return lax.fori_loop(0, 3, lambda i, c: c + 0.5, {first})\n"
        assert [each for each, _ in drifts(source)] == code
        names: dict[str, Any] = {"jnp": jnp, "lax": jax.lax}
        exec(source, names)
        if code:
            with pytest.raises(TypeError, match="must have equal types"):
                names["run"](0)
        else:
            assert names["run"](0) == 1.5

    @pytest.mark.parametrize(
        ("before", "after", "tail"),
        [
            ("return lax.scan(body, {'n': jnp.zeros((), jnp.int32)}, x)", "c['n'] + 1.0", "lax.scan refuses it"),
            ("return lax.scan(body, {'n': jnp.zeros(3)}, x)", "None", "lax.scan refuses it"),
            (
                "c = {'n': jnp.zeros((), jnp.int32)}\n    for x in xs:\n        c, _ = body(c, x)",
                "c['n'] + 1.0",
                "one more executable in a loop, and lax.scan refuses it",
            ),
            (
                "c = {'n': 0}\n    for x in xs:\n        c, _ = body(c, x)",
                "c['n'] + 1.0",
                "one more executable in a loop",
            ),
        ],
    )
    def test_the_message_is_about_the_loop_that_it_is(self, before: str, after: str, tail: str) -> None:
        (finding,) = lint(f"def body(c, x):\n    return {{'n': {after}}}, x\ndef run(xs):\n    {before}\n")
        assert finding.message.rpartition(": ")[2] == tail

    @pytest.mark.parametrize(
        ("first", "after", "fix"),
        [
            ("jnp.zeros((), jnp.int32)", "c['n'] + 1.0", "write `c['n'] + 1`"),
            ("jnp.zeros((), jnp.int32)", "2.0 + c['n']", "write `2 + c['n']`"),
            (
                "jnp.zeros((), jnp.int32)",
                "c['n'] + 0.5",
                "start it as a float, or cast back what is computed: `.astype(...)`",
            ),
            (
                "0",
                "c['n'] + 0.5",
                "start it as `jnp.zeros((), jnp.float32)`, or cast back what is computed: `.astype(...)`",
            ),
            (
                "7",
                "c['n'] + 0.5",
                "start it as `jnp.asarray(7, jnp.float32)`, or cast back what is computed: `.astype(...)`",
            ),
        ],
    )
    def test_the_help_is_what_to_write(self, first: str, after: str, fix: str) -> None:
        source = f"def step(c):\n    return {{'n': {after}}}\ndef run():\n    c = {{'n': {first}}}\n    c = step(c)\n"
        found = [finding for finding in lint(source) if finding.code == "SL302"]
        assert [finding.fix.message for finding in found if finding.fix] == [fix]


class TestWhatDiffers:
    def test_an_empty_state_is_filled(self) -> None:
        assert drifts("""
            class NormState(typing.NamedTuple):
                norm: jax.Array
            def clip():
                def init(params):
                    return optax.EmptyState()
                def update(updates, state, params=None):
                    return updates, NormState(optax.global_norm(updates))
                return optax.GradientTransformation(init, update)
        """) == [("SL301", "")]

    def test_none_becomes_whatever_is_reckoned(self) -> None:
        assert drifts("""
            @struct.dataclass
            class Average:
                mean: jax.Array
                last: typing.Optional[jax.Array] = None
            def make():
                def update(average, x):
                    return average.replace(mean=0.9 * average.mean, last=x * 0.1)
                return update, Average(jnp.zeros(3))
        """) == [("SL301", "last")]

    def test_two_named_tuples_of_the_same_fields(self) -> None:
        assert drifts("""
            A = collections.namedtuple("A", ["x", "y"])
            B = collections.namedtuple("B", ["x", "y"])
            def make():
                def step(s):
                    return B(s.x + 1, s.y)
                return step, A(jnp.ones(2), jnp.ones(2)), ()
        """) == [("SL301", "")]

    def test_frozen_dict_becomes_dict(self) -> None:
        assert drifts("""
            state = {"params": freeze({"w": jnp.ones(2)})}
            def step(state):
                params = unfreeze(state["params"])
                params["w"] = params["w"] * 0.9
                return {"params": params}
            state = step(state)
        """) == [("SL301", "['params']")]

    def test_named_tuple_becomes_tuple(self) -> None:
        assert drifts("""
            Pair = collections.namedtuple("Pair", "a b")
            def loop(xs):
                return lax.scan(lambda c, x: ((c.a + x, c.b), None), Pair(jnp.zeros(2), jnp.zeros(2)), xs)
        """) == [("SL301", "")]

    def test_list_becomes_tuple(self) -> None:
        assert drifts("""
            def loop(xs):
                def body(c, x):
                    return {"h": tuple(c["h"])}, None
                return lax.scan(body, {"h": [jnp.zeros(2), jnp.zeros(2)]}, xs)
        """) == [("SL301", "['h']")]

    def test_key_dropped(self) -> None:
        assert drifts("""
            def loop(xs):
                return lax.scan(lambda c, x: ({"a": c["a"]}, x), {"a": jnp.zeros(2), "b": jnp.ones(2)}, xs)
        """) == [("SL301", "['b']")]

    def test_a_branch_that_returns_another_structure(self) -> None:
        assert drifts("""
            state = {"w": jnp.ones(2), "grad": None}
            def train_step(state, x, warm):
                if warm:
                    return state
                return {**state, "grad": jnp.exp(x)}
            state = train_step(state, x, True)
        """) == [("SL301", "['grad']")]

    def test_static_counter(self) -> None:
        assert drifts("""
            @struct.dataclass
            class TrainState:
                w: jax.Array
                epoch: int = struct.field(pytree_node=False)
            def train_step(state: TrainState, x):
                return state.replace(w=state.w - x, epoch=state.epoch + 1)
        """) == [("SL202", "epoch")]

    def test_tree_at(self) -> None:
        assert drifts("""
            class SamplerState(eqx.Module):
                x: jax.Array
                n: int
            def step(state: SamplerState):
                return eqx.tree_at(lambda s: s.n, state, state.n + 1.0)
        """) == [("SL302", "n")]

    def test_mixed_keys(self) -> None:
        assert drifts("""
            def loop(xs):
                def body(c, x):
                    return (jax.random.wrap_key_data(jax.random.key_data(x)), c[1]), None
                return lax.scan(body, (jax.random.PRNGKey(0), jnp.ones(2)), xs)
        """) == [("SL702", "[0]")]


class TestFilterJit:
    """Python numbers are static under `eqx.filter_jit`, and leaves under `jax.jit`."""

    @pytest.mark.parametrize(
        ("jit", "value", "expected"),
        [
            ("eqx.filter_jit", "0.9 * state['ema'] + 0.1", [("SL202", "['ema']")]),
            ("eqx.filter_jit", "state['ema'] * 2", [("SL202", "['ema']")]),
            ("eqx.filter_jit", "state['ema']", []),
            ("eqx.filter_jit", "0.0", []),
            ("eqx.filter_jit", "0.9 * state['ema'] + x", []),
            ("jax.jit", "0.9 * state['ema'] + 0.1", []),
        ],
    )
    def test_a_number_that_the_step_changes(self, jit: str, value: str, expected: list[tuple[str, str | None]]) -> None:
        assert (
            drifts(f"""
            import equinox as eqx
            @{jit}
            def train_step(state, x):
                return {{"w": state["w"] - x, "ema": {value}}}
            def main(data):
                state = {{"w": jnp.ones(3), "ema": 0.0}}
                for x in data:
                    state = train_step(state, x)
        """)
            == expected
        )

    def test_a_counter_is_told_where_it_starts(self) -> None:
        assert said(
            HEAD
            + textwrap.dedent("""
            import equinox as eqx
            @eqx.filter_jit
            def train_step(state, x):
                return {"params": state["params"] - x, "step": state["step"] + 1}
            def main(data):
                state = {"params": jnp.ones(3), "step": 0}
                for x in data:
                    state = train_step(state, x)
        """)
        ) == [("SL101", "['step']")]


FOLDED = "k = jax.random.fold_in(state.rng, 0)\n    "


class TestKeys:
    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ("return state.replace(w=jax.random.normal(state.rng, (3,)))", [("SL305", "rng")]),
            ("_, s = jax.random.split(state.rng)\n    return state.replace(w=s)", [("SL305", "rng")]),
            ("k, s = jax.random.split(state.rng)\n    return state.replace(w=jax.random.normal(s), rng=k)", []),
            ("k = jax.random.fold_in(state.rng, state.t)\n    return state.replace(w=jax.random.normal(k))", []),
            ("k = jax.random.fold_in(state.rng, x)\n    return state.replace(w=jax.random.normal(k))", []),
            (f"{FOLDED}return state.replace(w=jax.random.normal(k))", [("SL305", "rng")]),
            (
                f"{FOLDED}a, b = jax.random.split(k)\n    return state.replace(w=jax.random.normal(b))",
                [("SL305", "rng")],
            ),
            (f"{FOLDED}return state.replace(w=jax.random.normal(jax.random.fold_in(k, state.t)))", []),
            (f"{FOLDED}return state.replace(w=jax.random.normal(k), rng=jax.random.split(k)[0])", []),
            (f"{FOLDED}return state", []),
            (
                "k = jax.random.fold_in(jax.random.key(0), state.t)\n    return state.replace(w=jax.random.normal(k))",
                [],
            ),
            ("return state.replace(w=jax.random.normal(jax.random.PRNGKey(0)))", [("SL305", None)]),
            ("return state", []),
            ("x = jax.random.normal(state.rng)\n    return x", []),
            ("state = state.replace(rng=jax.random.split(state.rng)[0])\n    return state", []),
        ],
    )
    def test_key_of_the_state(self, body: str, expected: list[tuple[str, str | None]]) -> None:
        assert drifts(f"def step(state, x):\n    {body}\n") == expected

    def test_helper_that_draws(self) -> None:
        assert drifts("""
            def noise(key, x):
                return x + jax.random.normal(key, x.shape)
            def step(state):
                return {"key": state["key"], "x": noise(state["key"], state["x"])}
        """) == [("SL305", "['key']")]


@pytest.mark.parametrize(
    "source",
    [
        # What the source does not tell.
        "def step(state, f):\n    return f(state)",
        "def step(state, **kw):\n    return {**state, **kw}",
        "def step(state):\n    return jax.tree.map(lambda x: x + 1, state)",
        "state = {'w': jnp.ones(2)}\ndef step(state, names):\n    return {n: state['w'] for n in names}\n"
        "state = step(state, ())",
        "info = {}\nfor k in ('a', 'b'):\n    info[k] = jnp.ones(2)\n"
        "def step(s):\n    return {**s, 'a': s['a'] * 2}\ninfo = step(info)",
        "state = {'n': jnp.zeros((), jnp.int32)}\n"
        "def step(s):\n    return {'n': jnp.where(s['n'] > 3, 0, s['n'] + 1)}\nstate = step(state)",
        "state = {'t': jnp.zeros(())}\ndef step(s):\n    return {'t': s['t'] + 0.1}\nstate = step(state)",
        # An operator of the class's own.
        "@struct.dataclass\nclass Wide:\n    hi: jax.Array\n    def __add__(self, n): return self\n"
        "state = {'n': Wide(jnp.zeros(()))}\ndef step(s):\n    return {'n': s['n'] + 1}\nstate = step(state)",
        # A rebinding that is no step.
        "f = {'a': jnp.ones(2)}\ndef freeze_it(f):\n    return FrozenDict(f)\nf = freeze_it(f)",
    ],
)
def test_silence(source: str) -> None:
    assert drifts(source) == []
