"""What each rule says of the source: one hazard and its harmless neighbour at a time."""

from __future__ import annotations

import textwrap

import pytest

from statelint import rules
from statelint.diagnostics import Diagnostic, Severity
from statelint.model.names import Names
from statelint.source.project import Project

HEAD = """
import dataclasses, functools, typing
import chex, equinox as eqx, flax, jax, numpy as np
import jax.numpy as jnp
from flax import nnx, struct
from flax.training.train_state import TrainState
from jax import lax
"""


def lint(source: str, names: Names | None = None) -> list[Diagnostic]:
    code = HEAD + textwrap.dedent(source)
    readings = Project(names or Names()).read([("train.py", code.encode())])
    found = [finding for reading in readings for finding in rules.in_source(reading.parts)]
    return [finding for finding in found if rules.load()[finding.code].rule.default]


def said(source: str) -> list[tuple[str, str | None]]:
    return [(finding.code, finding.field) for finding in lint(source)]


class TestPythonStepCounter:
    def test_dict_state(self) -> None:
        (finding,) = lint('state = {"params": jnp.ones(3), "step": 0}')
        assert (finding.code, finding.field) == ("SL101", "['step']")
        assert finding.severity is Severity.WARNING
        assert "one more executable when a restore brings an int32" in finding.message
        assert "every step" not in finding.message

    def test_array_counter_is_clean(self) -> None:
        assert said('state = {"params": jnp.ones(3), "step": jnp.zeros((), jnp.int32)}') == []

    def test_default_of_a_field(self) -> None:
        (finding,) = lint("""
            @struct.dataclass
            class SamplerState:
                sigma: jax.Array
                n_steps: int = 0
        """)
        assert (finding.code, finding.field, finding.location.line) == ("SL101", "n_steps", 12)

    def test_equinox_is_an_error(self) -> None:
        (finding,) = lint("""
            class Model(eqx.Module):
                w: jax.Array
                num_updates: int
            model = Model(jnp.ones(3), 0)
        """)
        assert finding.severity is Severity.ERROR
        assert "eqx.filter_jit" in finding.message

    @pytest.mark.parametrize(
        ("attribute", "expected"),
        [("counter", [("SL101", "count")]), ("nnx.Variable(jnp.zeros((), jnp.int32))", [])],
    )
    def test_nnx_attribute(self, attribute: str, expected: list[tuple[str, str]]) -> None:
        assert (
            said(f"""
            class Net(nnx.Module):
                def __init__(self, counter):
                    self.count = {attribute}

            @nnx.jit
            def train_step(model, x):
                model.count += 1
                return x
        """)
            == expected
        )

    @pytest.mark.parametrize(
        ("start", "expected"),
        [("0", [("SL101", "count")]), ("nnx.Variable(jnp.zeros((), jnp.int32))", [])],
    )
    def test_nnx_attribute_counted_in_a_call(self, start: str, expected: list[tuple[str, str]]) -> None:
        assert (
            said(f"""
            class Net(nnx.Module):
                def __init__(self):
                    self.count = {start}

                def __call__(self, x):
                    self.count += 1
                    return x
        """)
            == expected
        )

    @pytest.mark.parametrize(
        ("jit", "severity"),
        [("jax.jit", Severity.WARNING), ("eqx.filter_jit", Severity.ERROR), ("nnx.jit", Severity.WARNING)],
    )
    def test_a_dict_goes_by_the_only_jit_in_sight(self, jit: str, severity: Severity) -> None:
        (finding,) = lint(f'train = {jit}(step)\nstate = {{"params": jnp.ones(3), "step": 0}}')
        assert finding.severity is severity

    def test_limits_are_no_counters(self) -> None:
        assert ("SL101", "['max_steps']") not in said('state = {"params": jnp.ones(3), "max_steps": 1}')

    def test_configured_counter_names(self) -> None:
        names = Names(counters=("ticks",))
        found = lint('state = {"params": jnp.ones(3), "ticks": 0, "w": jnp.ones(2)}', names)
        assert [finding.code for finding in found] == ["SL101"]

    def test_create_sets_no_counter_in_the_source(self) -> None:
        assert said("state = TrainState.create(apply_fn=f, params=p, tx=tx)") == []


class TestPythonScalarLeaf:
    def test_float_in_a_state(self) -> None:
        assert said("""
            class EnvState(typing.NamedTuple):
                position: jax.Array
                reward: jax.Array
            state = EnvState(jnp.zeros(3), 0.0)
        """) == [("SL102", "reward")]

    def test_bool_is_strong(self) -> None:
        assert said('state = {"params": jnp.ones(3), "done": False}') == []

    def test_a_record_of_settings_is_no_state(self) -> None:
        assert (
            said("""
            class Options(typing.NamedTuple):
                rate: float
                layers: int
            options = Options(0.1, 3)
            config = {"rate": 0.1, "layers": 3}
        """)
            == []
        )

    def test_name_is_followed(self) -> None:
        assert said('scale = 0.5\nstate = {"params": jnp.ones(3), "scale": scale}') == [("SL102", "['scale']")]

    def test_first_carry_of_a_loop_is_left_to_the_probe(self) -> None:
        assert (
            said("""
            class SearchState(typing.NamedTuple):
                low: jax.Array
            def search(f):
                state = SearchState(0.0)
                return lax.while_loop(cond, body, state)
        """)
            == []
        )

    def test_texts_in_a_dict_tell_that_it_is_no_state(self) -> None:
        assert said('state = {"params": jnp.ones(3), "name": "adam", "rate": 0.1}') == []


class TestWeakTypedArray:
    @pytest.mark.parametrize(
        "expression",
        [
            "jnp.asarray(0.0)",
            "jnp.array(-1)",
            "jnp.full((3,), 1.0)",
            "jnp.full((3,), fill_value=-jnp.inf)",
            "jnp.where(c, 1.0, 0.0)",
            "jnp.stack([1.0, 2.0])",
            "jnp.zeros_like(0)",
            "jnp.maximum(0, 1)",
            "jnp.exp(jnp.asarray(1.0))",
            "jnp.asarray(2 * 0.5)",
            "jnp.asarray(1.0) * 2",
        ],
    )
    def test_weak(self, expression: str) -> None:
        assert said(f'state = {{"params": jnp.ones(3), "x": {expression}}}') == [("SL103", "['x']")]

    @pytest.mark.parametrize(
        "expression",
        [
            "jnp.array([0.0])",
            "jnp.asarray(0.0, jnp.float32)",
            "jnp.asarray(0.0, dtype=d)",
            "jnp.full((3,), 1.0, jnp.float32)",
            "jnp.where(c, x, 0.0)",
            "jnp.asarray(True)",
            "jnp.full_like(jnp.ones(3), 1.0)",
            "jnp.float32(0)",
            "jnp.asarray(unknown)",
            "jnp.asarray(*values)",
            "np.asarray(0.0)",
            "jnp.ones(3) * 2.0",
        ],
    )
    def test_strong_or_not_to_be_told(self, expression: str) -> None:
        assert said(f'state = {{"params": jnp.ones(3), "x": {expression}}}') == []

    def test_any_pytree_class(self) -> None:
        assert said("""
            @struct.dataclass
            class Data:
                qpos: jax.Array
                time: jax.Array
            d = Data(jnp.zeros(3), jnp.array(0.0)).replace(time=jnp.array(1.0))
        """) == [("SL103", "time"), ("SL103", "time")]

    def test_reassigned_name_is_not_followed(self) -> None:
        assert (
            said("""
            def init(x):
                t = jnp.array(0.0)
                t = t + x
                return {"w": jnp.ones(3), "t": t}
        """)
            == []
        )


STATIC = {
    "flax": "@struct.dataclass\nclass TrainState:\n    {field} = struct.field(pytree_node=False)",
    "node": "class TrainState(struct.PyTreeNode):\n    {field} = struct.field(pytree_node=False)",
    "registered": (
        "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass TrainState:\n"
        "    {field} = dataclasses.field(metadata=dict(static=True))"
    ),
    "metadata literal": (
        "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass TrainState:\n"
        "    {field} = dataclasses.field(metadata={{'static': True}})"
    ),
    "partial": (
        "@functools.partial(jax.tree_util.register_dataclass, data_fields=['w'], meta_fields=['x'])\n"
        "@dataclasses.dataclass\nclass TrainState:\n    {field}"
    ),
    "called": (
        "@dataclasses.dataclass\nclass TrainState:\n    {field}\n"
        "jax.tree_util.register_dataclass(TrainState, data_fields=['w'], meta_fields=['x'])"
    ),
    "equinox": "class TrainState(eqx.Module):\n    {field} = eqx.field(static=True)",
}


@pytest.mark.parametrize("flavour", STATIC)
class TestStaticFields:
    @pytest.mark.parametrize(
        ("annotation", "code"),
        [
            ("float", "SL201"),
            ("bool", "SL201"),
            ("int | None", "SL201"),
            ("jax.Array", "SL203"),
            ("np.ndarray", "SL203"),
            ("typing.Optional[jnp.ndarray]", "SL203"),
            ("'jax.Array'", "SL203"),
            ("list", "SL204"),
            ("dict[str, int]", "SL204"),
            ("typing.List[int]", "SL204"),
        ],
    )
    def test_told(self, flavour: str, annotation: str, code: str) -> None:
        assert said(STATIC[flavour].format(field=f"x: {annotation}")) == [(code, "x")]

    @pytest.mark.parametrize("annotation", ["str", "typing.Callable", "typing.Any", "tuple[int, ...]", "Unknown"])
    def test_settings(self, flavour: str, annotation: str) -> None:
        assert said(STATIC[flavour].format(field=f"x: {annotation}")) == []


def test_sizes_are_no_static_numbers() -> None:
    assert (
        said("""
        @struct.dataclass
        class TrainState:
            num_layers: int = struct.field(pytree_node=False)
            hidden_dim: int = struct.field(pytree_node=False)
    """)
        == []
    )


def test_static_number_of_a_model_is_a_setting() -> None:
    assert said("class Model(eqx.Module):\n    rate: float = eqx.field(static=True)") == []


def test_array_given_to_a_static_field() -> None:
    assert said("""
        @struct.dataclass
        class Data:
            table: typing.Any = struct.field(pytree_node=False)
        d = Data(table=np.arange(4))
    """) == [("SL203", "table")]


def test_mutable_default_of_a_static_field() -> None:
    assert said("""
        @jax.tree_util.register_dataclass
        @dataclasses.dataclass
        class Data:
            names: typing.Any = dataclasses.field(default_factory=list, metadata=dict(static=True))
    """) == [("SL204", "names")]


class TestSharedBuffer:
    def test_one_name_twice(self) -> None:
        (finding,) = lint("""
            class OptState(typing.NamedTuple):
                mu: jax.Array
                nu: jax.Array
            def init_fn(params):
                zeros = jax.tree.map(jnp.zeros_like, params)
                return OptState(mu=zeros, nu=zeros)
        """)
        assert (finding.code, finding.field, finding.location.line) == ("SL401", "nu", 14)
        assert finding.message == "state.mu and state.nu share one buffer: donating this state fails"
        assert finding.severity is Severity.WARNING
        assert [related.location.column for related in finding.related] == [24]

    def test_donation_in_sight_is_an_error(self) -> None:
        (finding,) = lint("""
            p = {"w": jnp.ones(3)}
            state = {"params": p, "ema": p}
            train = jax.jit(step, donate_argnums=0)
        """)
        assert finding.severity is Severity.ERROR

    def test_empty_donation_is_none(self) -> None:
        (finding,) = lint("""
            p = {"w": jnp.ones(3)}
            state = {"params": p, "ema": p}
            train = jax.jit(step, donate_argnums=())
        """)
        assert finding.severity is Severity.WARNING

    def test_nested_paths(self) -> None:
        (finding,) = lint("""
            z = jnp.zeros(3)
            state = {"params": jnp.ones(3), "opt": {"mu": z, "nu": z}}
        """)
        assert finding.field == "['opt']['nu']"
        assert finding.message.startswith("state['opt']['mu'] and state['opt']['nu'] share")

    def test_three_are_one_finding(self) -> None:
        (finding,) = lint('z = jnp.zeros(3)\nstate = {"a": z, "b": z, "c": z}')
        assert "state['a'], state['b'] and state['c']" in finding.message

    @pytest.mark.parametrize(
        "second",
        ["jnp.asarray(p)", "jax.device_put(p)", "lax.stop_gradient(p)", "jax.tree.map(lambda x: x, p)", "q"],
    )
    def test_same_buffer(self, second: str) -> None:
        assert said(f'p = {{"w": jnp.ones(3)}}\nq = p\nstate = {{"params": p, "ema": {second}}}') == [
            ("SL401", "['ema']")
        ]

    @pytest.mark.parametrize(
        "second", ["jax.tree.map(jnp.copy, p)", "jnp.array(p)", "copy.deepcopy(p)", "p + 0", "unknown(p)"]
    )
    def test_new_buffer_or_not_to_be_told(self, second: str) -> None:
        assert said(f'p = {{"w": jnp.ones(3)}}\nstate = {{"params": p, "ema": {second}}}') == []

    def test_numpy_is_never_donated(self) -> None:
        assert said('z = np.zeros(3)\nstate = {"mu": z, "nu": z}') == []

    def test_unknown_values_are_not_told(self) -> None:
        assert said('def init(x):\n    return {"mu": x, "nu": x}') == []

    @pytest.mark.parametrize(
        "source",
        [
            "@jax.jit\ndef init_fn(params):\n    return {'mu': params, 'nu': params}",
            "def init_fn(params):\n    return {'mu': params, 'nu': params}\ninit = jax.jit(init_fn)",
            "init = jax.jit(lambda params: {'mu': params, 'nu': params})",
            "def train_step(params):\n    return {'mu': params, 'nu': params}",
        ],
    )
    def test_traced_values_get_buffers_of_their_own(self, source: str) -> None:
        assert said(source) == []


def test_classmethod_that_builds_its_own_class() -> None:
    assert said("""
        class Pair(typing.NamedTuple):
            fast: typing.Any
            slow: typing.Any

            @classmethod
            def synced(cls, params):
                return cls(fast=params, slow=params)
    """) == [("SL401", "slow")]


def test_syntax_error() -> None:
    (finding,) = lint("x = (")
    assert finding.code == "SL900"
    assert finding.location.line == 8


def test_what_a_test_expects_is_no_state() -> None:
    assert said('expected = {"params": jnp.ones(3), "step": 0}') == []
