"""What the rules say of dicts: which are states, and what becomes of them after they are written."""

from __future__ import annotations

import pytest

from tests.rules.test_source_rules import lint, said

FIRST = '{"params": params, "step": 0}'
TWICE = '{"params": params, "ema": params}'


class TestWhichAreStates:
    @pytest.mark.parametrize(
        "source",
        [
            'state = {"running": True, "retries": 0}',
            'ui_state = {"open": False, "count": 0}',
            'STATE_NAMES = {"step": 0, "params": 1}',
            'state = {"started": time.time(), "count": 0}',
            'def handle(name: str):\n    state = {"name": name, "count": 0}',
        ],
    )
    def test_one_with_nothing_that_may_be_an_array_is_none(self, source: str) -> None:
        assert said(source) == []

    @pytest.mark.parametrize(
        ("before", "leaf"),
        [
            ("", "jnp.ones(3)"),
            ("", "params"),
            ("", "net.init(key)"),
            ("", "optax.adam(1e-3).init(p)"),
            ("", "old_state['w']"),
            ("w = sample(jax.random.key(0))\n", "w"),
        ],
    )
    def test_one_with_what_may_be_an_array(self, before: str, leaf: str) -> None:
        assert said(f'{before}state = {{"x": {leaf}, "step": 0}}') == [("SL101", "['step']")]

    @pytest.mark.parametrize("leaf", ["np.zeros(3)", "np.asarray(xs)"])
    def test_numpy_beside_python_is_the_hosts_own(self, leaf: str) -> None:
        assert said(f'state = {{"x": {leaf}, "step": 0, "done": False}}') == []
        assert said(f'state = {{"x": {leaf}, "w": net.init(key), "step": 0}}') == [("SL101", "['step']")]

    def test_a_parameter_may_be_an_array(self) -> None:
        assert said('def make(x):\n    state = {"x": x, "step": 0}\n    return state') == [("SL101", "['step']")]

    @pytest.mark.parametrize("name", ["save_model", "write_checkpoint", "log_epoch", "to_dict", "state_dict"])
    def test_what_is_written_down_is_not_carried(self, name: str) -> None:
        assert said(f"def {name}(params):\n    state = {FIRST}\n    send(state)\n    return {TWICE}") == []

    @pytest.mark.parametrize("call", ["save_pickle({})", "manager.save(0, {})", "ckpt.save(1, args=Standard({}))"])
    def test_what_is_given_to_such_a_function(self, call: str) -> None:
        assert said(call.format(FIRST) + "\n" + call.format(TWICE)) == []

    def test_what_is_only_written_down(self) -> None:
        assert said(f"def run(params):\n    payload = {FIRST}\n    manager.save(0, args=Standard(payload))") == []
        assert said(f"checkpoint = {FIRST}") == []
        assert said(f"def run(params):\n    state = {FIRST}\n    manager.save(0, state)") == [("SL101", "['step']")]

    def test_only_the_last_of_two_keys_exists(self) -> None:
        assert said('state = {"params": params, "step": 0, "step": jnp.zeros((), jnp.int32)}') == []


class TestWhatBecomesOfThem:
    @pytest.mark.parametrize(
        "later",
        [
            'state["step"] = jnp.zeros((), jnp.int32)',
            "state.update(step=jnp.zeros((), jnp.int32))",
            'state.update({"step": jnp.zeros((), jnp.int32)})',
            'state |= {"step": jnp.zeros((), jnp.int32)}',
            'state.pop("step")',
            'del state["step"]',
            'state = {**state, "step": jnp.zeros((), jnp.int32)}',
            'state = state | {"step": jnp.zeros((), jnp.int32)}',
            'if fast:\n        state["step"] = jnp.zeros((), jnp.int32)',
        ],
    )
    def test_a_part_that_is_set_later(self, later: str) -> None:
        assert said(f"def create(params):\n    state = {FIRST}\n    {later}\n    return state") == []
        assert said(f"state = {FIRST}\n" + later.replace("\n    ", "\n")) == []

    @pytest.mark.parametrize(
        "later", ['state["step"] = state["step"] + 1', 'state = {**state, "step": state["step"] + 1}']
    )
    def test_a_part_that_is_counted_up(self, later: str) -> None:
        source = f"def run(params):\n    state = {FIRST}\n    for x in data:\n        {later}\n    return state"
        assert said(source) == [("SL101", "['step']")]

    def test_a_part_that_is_set_to_a_number(self) -> None:
        source = 'state = {"params": params, "step": jnp.int32(0)}\nstate = {**state, "step": 0}'
        assert said(source) == [("SL101", "['step']")]

    @pytest.mark.parametrize(
        ("later", "expected"),
        [
            ("state.replace(step=jnp.zeros((), jnp.int32))", []),
            ("state.replace(step=state.step + 1)", [("SL101", "step")]),
        ],
    )
    def test_a_field_that_is_replaced(self, later: str, expected: list[tuple[str, str]]) -> None:
        cls = "@struct.dataclass\nclass LoopState:\n    step: jax.Array\n"
        assert said(f"{cls}def run():\n    state = LoopState(0)\n    state = {later}\n    return state") == expected

    def test_the_last_assignment_counts(self) -> None:
        source = (
            'def create(params):\n    state = {"params": params, "step": x}\n    state["step"] = 0\n    return state'
        )
        (finding,) = lint(source)
        assert (finding.code, finding.location.line, finding.location.column) == ("SL101", 10, 21)

    @pytest.mark.parametrize(
        "function", ["jnp.copy", "jnp.array", "lambda x: x.copy()", "lambda x: jnp.array(x, copy=True)", "unknown"]
    )
    def test_copies_share_nothing(self, function: str) -> None:
        assert said(f"def create(params):\n    state = {TWICE}\n    return jax.tree.map({function}, state)") == []
        assert said(f"def create(params):\n    return jax.tree.map({function}, {TWICE})") == []

    def test_a_copy_under_another_name(self) -> None:
        source = f"def create(params):\n    state = {TWICE}\n    own = jax.tree.map(jnp.copy, state)\n    return "
        assert said(source + "own") == []
        assert said(source + "own, state") == [("SL401", "['ema']")]

    @pytest.mark.parametrize("function", ["lambda x: x", "jnp.asarray"])
    def test_the_same_buffers_are_shared(self, function: str) -> None:
        source = (
            f"def create(params):\n    state = {TWICE}\n    state = jax.tree.map({function}, state)\n    return state"
        )
        assert said(source) == [("SL401", "['ema']")]

    @pytest.mark.parametrize(
        ("function", "expected"),
        [
            ("lambda x: jnp.asarray(x, jnp.float32)", []),
            ("lambda x: jnp.array(x, dtype=jnp.float32)", []),
            ("jnp.asarray", [("SL103", "['rate']")]),
            ("lambda x: jnp.array(x)", [("SL103", "['rate']")]),
        ],
    )
    def test_numbers_become_arrays(self, function: str, expected: list[tuple[str, str]]) -> None:
        literal = '{"params": jnp.ones(3), "rate": 0.1}'
        assert said(f"def create_state(params):\n    return jax.tree.map({function}, {literal})") == expected
        assert (
            said(f"def create_state(params):\n    state = {literal}\n    return jax.tree.map({function}, state)")
            == expected
        )


@pytest.mark.parametrize("function", ["np.zeros_like", "lambda x: np.array(x)"])
def test_numpy_has_no_buffer_of_a_device(function: str) -> None:
    assert (
        said(f'zeros = jax.tree.map({function}, params)\nstate = {{"params": params, "mu": zeros, "nu": zeros}}') == []
    )


class TestInvalidLeaf:
    @pytest.mark.parametrize(
        "leaf",
        [
            "types.MappingProxyType({})",
            "UserDict(a=1)",
            "Counter()",
            "collections.deque()",
            "{1, 2}",
            "Own(a=1)",
            "Plain()",
        ],
    )
    @pytest.mark.parametrize("holder", ['{{"params": jnp.ones(3), "x": {}}}', "HeldState(x={})"])
    def test_what_jit_refuses(self, leaf: str, holder: str) -> None:
        before = """
import collections, types
from collections import Counter, UserDict
class Own(dict): ...
@dataclasses.dataclass
class Plain:
    a: int = 0
@struct.dataclass
class HeldState:
    x: typing.Any
"""
        assert [code for code, _ in said(f"{before}state = {holder.format(leaf)}")] == ["SL105"]

    @pytest.mark.parametrize("leaf", ["collections.OrderedDict(a=1)", "collections.defaultdict(list)", "dict(a=p)"])
    def test_what_jax_looks_into(self, leaf: str) -> None:
        assert said(f'import collections\nstate = {{"params": jnp.ones(3), "x": {leaf}}}') == []

    def test_a_text_in_what_a_first_state_function_returns(self) -> None:
        source = 'def {}():\n    return {{"params": jnp.ones(3), "name": "adam"}}'
        assert said(source.format("create_state")) == [("SL105", "['name']")]
        assert said(source.format("create_report")) == []
