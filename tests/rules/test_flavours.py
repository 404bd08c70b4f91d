"""What the rules say of the ways in which libraries spell a state."""

from __future__ import annotations

import pytest

from tests.rules.test_source_rules import lint, said


class TestOwnFlatten:
    """Classes with a flatten and unflatten of their own."""

    INIT = """
    def __init__(self, x, step, n=3):
        self.x = x
        self.step = step
        self.n = n
"""
    DECORATED = f"""
@jax.tree_util.register_pytree_node_class
class CarState:{INIT}
    def tree_flatten(self):
        children = (self.x, self.step)
        return children, {{"n": self.n}}
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, **aux)
"""
    WITH_KEYS = f"""
@jax.tree_util.register_pytree_with_keys_class
class CarState:{INIT}
    def tree_flatten_with_keys(self):
        return ((GetAttrKey("x"), self.x), (GetAttrKey("step"), self.step)), self.n
    @classmethod
    def tree_unflatten(cls, aux, children):
        return cls(*children, aux)
"""
    CALLED = f"""
class CarState:{INIT}
def flatten(car):
    return [car.x, car.step], car.n
jax.tree_util.register_pytree_node(CarState, flatten, lambda aux, children: CarState(*children, aux))
"""
    LAMBDA = f"""
class CarState:{INIT}
jax.tree_util.register_pytree_node(CarState, lambda s: ((s.x, s.step), s.n), lambda n, c: CarState(*c, n))
"""

    @pytest.mark.parametrize("cls", [DECORATED, WITH_KEYS, CALLED, LAMBDA])
    def test_their_children_are_leaves_and_their_aux_data_is_not(self, cls: str) -> None:
        assert said(f"{cls}\ncar = CarState(jnp.ones(3), 0, 2)") == [("SL101", "step")]
        assert said(f"{cls}\ncar = CarState(x=jnp.asarray(0.0), step=jnp.int32(0), n=5)") == [("SL103", "x")]

    def test_a_parameter_that_is_not_kept_as_it_is(self) -> None:
        cls = self.DECORATED.replace("self.step = step", "self.step = jnp.asarray(step, jnp.int32)")
        assert "SL101" not in [code for code, _ in said(f"{cls}\ncar = CarState(jnp.ones(3), 0, 2)")]


class TestConstructors:
    """What an `__init__` sets."""

    def test_attributes_of_an_equinox_module(self) -> None:
        assert said("""
            class Model(eqx.Module):
                w: jax.Array
                scale: jax.Array
                n_steps: int
                size: int = eqx.field(static=True)
                def __init__(self, w):
                    self.w = w
                    self.scale = jnp.asarray(1.0)
                    self.n_steps = 0
                    self.size = 3
        """) == [("SL101", "n_steps"), ("SL103", "scale")]

    def test_what_is_no_field_is_left_alone(self) -> None:
        source = "class Model:\n    scale: jax.Array\n    def __init__(self):\n        self.scale = jnp.asarray(1.0)"
        assert said(source) == []

    @pytest.mark.parametrize("variable", ["Param", "Variable", "BatchStat"])
    def test_variables_of_nnx(self, variable: str) -> None:
        source = "class Model(nnx.Module):\n    def __init__(self):\n        self.scale = nnx.{}({})"
        assert said(source.format(variable, "jnp.asarray(1.0)")) == [("SL103", "scale")]
        assert said(source.format(variable, "jnp.ones(3)")) == []


class TestCalls:
    """Calls that put leaves into a state."""

    @pytest.mark.parametrize("argument", ["jnp.asarray(0.0)", "init=jnp.asarray(0.0)"])
    def test_state_index(self, argument: str) -> None:
        assert said(f"index = eqx.nn.StateIndex({argument})") == [("SL103", "init")]
        assert said(f"index = eqx.nn.StateIndex({argument.replace('0.0', '[0.0]')})") == []

    @pytest.mark.parametrize(
        ("call", "expected"),
        [
            ('hk.set_state("count", 0)', [("SL101", "['count']")]),
            ('hk.set_state("mean", jnp.asarray(0.0))', [("SL103", "['mean']")]),
            ('hk.set_state("mean", mean)', []),
            ('hk.get_state("rate", [], init=lambda *_: 0.1)', [("SL102", "['rate']")]),
            ('hk.get_state("mean", [], init=jnp.zeros)', []),
            ("hk.set_state(name, 0)", []),
        ],
    )
    def test_haiku(self, call: str, expected: list[tuple[str, str]]) -> None:
        assert said(f"import haiku as hk\ndef forward(x, mean):\n    {call}\n    return x") == expected

    @pytest.mark.parametrize(
        ("where", "value", "expected"),
        [
            ("lambda m: m.scale", "jnp.asarray(0.0)", [("SL103", "scale")]),
            ("lambda m: (m.w, m.scale)", "(jnp.ones(3), jnp.asarray(0.0))", [("SL103", "scale")]),
            ("lambda m: m.net.scale", "jnp.asarray(0.0)", [("SL103", "net.scale")]),
            ("lambda m: m.scale", "jnp.zeros(3)", []),
            ("pick", "jnp.asarray(0.0)", []),
        ],
    )
    def test_tree_at(self, where: str, value: str, expected: list[tuple[str, str]]) -> None:
        assert said(f"model = eqx.tree_at({where}, model, {value})") == expected


class TestRecords:
    """NamedTuples in which nothing can be an array."""

    RECORD = "class ParserState(typing.NamedTuple):\n    line: int = 0\n    count: int = 0\n    name: str = ''\n"

    def test_one_that_nothing_traced_takes(self) -> None:
        assert said(f"{self.RECORD}state = ParserState(0, 0)") == []
        assert said(f"{self.RECORD}    tokens: list[str | None] = []") == []

    @pytest.mark.parametrize(
        "taker",
        [
            "@jax.jit\ndef advance(s: ParserState): return s",
            "def step(s: 'ParserState'): return s",
            "def body(carry, x): return carry, x\nlax.scan(body, ParserState(), xs)",
        ],
    )
    def test_one_that_something_traced_takes(self, taker: str) -> None:
        assert [code for code, _ in said(self.RECORD + taker)] == ["SL101", "SL102", "SL105"]

    def test_one_with_a_field_that_may_be_an_array(self) -> None:
        assert said("class Record(typing.NamedTuple):\n    x: typing.Any\nr = Record(jnp.asarray(0.0))") == [
            ("SL103", "x")
        ]


class TestAdvice:
    """What the help says can be written."""

    @pytest.mark.parametrize(
        "head",
        [
            "@struct.dataclass\nclass LoopState:",
            "@jax.tree_util.register_dataclass\n@dataclasses.dataclass\nclass LoopState:",
            "@chex.dataclass\nclass LoopState:",
            "class LoopState(TrainState):",
        ],
    )
    def test_a_dataclass_takes_no_array_as_a_default(self, head: str) -> None:
        rate, step = lint(f"{head}\n    rate: jax.Array = 0.1\n    step: jax.Array = 0")
        assert rate.fix is not None
        assert step.fix is not None
        messages = {rate.fix.message, step.fix.message}
        assert messages == {
            "write `dataclasses.field(default_factory=lambda: jnp.asarray(0.1, jnp.float32))`",
            "write `dataclasses.field(default_factory=lambda: jnp.zeros((), jnp.int32))`",
        }

    def test_a_named_tuple_does(self) -> None:
        (finding,) = lint("class LoopState(typing.NamedTuple):\n    w: jax.Array\n    step: jax.Array = 0")
        assert finding.fix is not None
        assert finding.fix.message == "write `jnp.zeros((), jnp.int32)`"


class TestWords:
    """Messages that claim no more than is so."""

    def test_a_number_that_is_reckoned(self) -> None:
        (finding,) = lint('state = {"params": params, "n": int(old["n"])}')
        assert finding.message.startswith("state['n'] is `int(old[\"n\"])`, a Python int, a weak leaf")

    @pytest.mark.parametrize("number", ["2**40", "4_294_967_296", "-2**31 - 1", "1024 * 1024 * 4096"])
    def test_a_number_beyond_32_bits(self, number: str) -> None:
        (finding,) = lint(f'state = {{"params": params, "seed": {number}}}')
        assert finding.code == "SL102"
        assert "which no int32 holds: jax.jit raises OverflowError" in finding.message
        assert finding.fix is None

    def test_a_static_array_is_said_once(self) -> None:
        (finding,) = lint("""
            @struct.dataclass
            class Model:
                table: typing.Any = struct.field(pytree_node=False, default=np.arange(3))
            model = Model(table=np.arange(4))
        """)
        assert (finding.code, finding.location.line) == ("SL203", 11)
        assert "a later call with another array raises" in finding.message


@pytest.mark.parametrize(
    "expression",
    [
        "jnp.arange(n) * 1.0",
        "2.0 - jnp.arange(3)",
        "-jnp.arange(3) + 0.5",
        "jnp.int32(0) / 2.0",
        "jnp.zeros(3, dtype=jnp.int32) + 1.0",
        "(jnp.arange(3) * 1.0) * 2",
    ],
)
def test_an_int_array_that_meets_a_float_is_weak(expression: str) -> None:
    assert said(f'state = {{"params": params, "x": {expression}}}') == [("SL103", "['x']")]


@pytest.mark.parametrize(
    "expression",
    [
        "jnp.arange(3) * 2",
        "jnp.arange(3) / 2",
        "jnp.arange(3) / 2 * 1.0",
        "jnp.arange(0.0, 1.0) * 1.0",
        "jnp.arange(0, n, dt) * 1.0",
        "jnp.zeros(3) * 1.0",
        "jnp.arange(3, dtype=jnp.float32) * 1.0",
    ],
)
def test_other_arithmetic_is_strong_or_not_to_be_told(expression: str) -> None:
    assert said(f'state = {{"params": params, "x": {expression}}}') == []


@pytest.mark.parametrize(
    "source",
    ['state = {"w": jnp.ones(3), "step": 0}; x = """\na\n"""', 'a = 1; \\\nstate = {"w": jnp.ones(3), "step": 0}'],
)
def test_statements_on_one_line(source: str) -> None:
    assert said(source) == [("SL101", "['step']")]
