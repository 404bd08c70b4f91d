from __future__ import annotations

from pathlib import Path

import jax
import jax.numpy as jnp
import optax
import pytest

from statelint import trace
from statelint.budget import budget, in_bytes
from tests.modules import load

LESSON = Path(__file__).parent.parent / "fixtures" / "lesson"


def weight(step, state, *args, **options):
    return budget(trace(step, state, *args, **options))


def params():
    return {"w": jnp.zeros((8, 4)), "b": jnp.zeros(4)}


def unchanged(state):
    return jax.tree.map(lambda leaf: leaf + 0, state)


class TestLesson:
    @pytest.fixture
    def adam(self):
        module = load(LESSON / "adam.py")
        return weight(module.train_step, module.init_state, *module.train.args)

    def test_adam_by_hand_weighs_twice_the_params_and_one_count(self, adam):
        assert adam.params.bytes == 1_050_624
        assert adam.optimizer.bytes == 2_101_252
        assert adam.optimizer.text == "2 x params + 4 B (count)"
        assert (adam.optimizer.multiple, adam.optimizer.remainder) == (2.0, 4)

    def test_subtrees_come_in_the_treedefs_order_and_add_up(self, adam):
        assert [part.path for part in adam.subtrees] == ["['opt']", "['params']"]
        assert sum(part.bytes for part in adam.subtrees) == adam.bytes == 3_151_876

    def test_a_donated_state_is_held_once(self, adam):
        assert (adam.peak.held, adam.peak.not_donating) == (3_151_876, 6_303_752)

    def test_the_four_kinds_are_counted(self):
        module = load(LESSON / "kinds_of_field.py")
        kinds = weight(module.train_step, module.create_state).kinds
        assert {kind.kind: kind.count for kind in kinds} == {
            "array leaf": 3,
            "subtree of leaves": 1,
            "static field": 1,
            "Python scalar": 1,
        }


class TestOptimizer:
    @pytest.mark.parametrize(
        ("make", "text"),
        [
            (lambda: optax.adam(1e-3), "2 x params + 4 B (count)"),
            (lambda: optax.sgd(1e-3), "nothing"),
            (lambda: optax.sgd(1e-3, momentum=0.9), "1 x params"),
            (lambda: optax.adam(1e-3, mu_dtype=jnp.bfloat16), "1.5 x params + 4 B (count)"),
        ],
    )
    def test_optax(self, make, text):
        def state():
            return {"params": params(), "opt_state": make().init(params())}

        found = weight(unchanged, state).optimizer
        assert (found.text if found else "nothing") == text

    def test_where_nothing_is_called_an_optimizer_all_beside_the_params_is_meant(self):
        def state():
            return {"params": params(), "momentum": params(), "step": jnp.zeros((), jnp.int32)}

        assert weight(unchanged, state).optimizer.text == "1 x params + 4 B (step)"

    def test_a_tuple_names_nothing_but_its_parts_are_alike(self):
        def state():
            return params(), optax.adam(1e-3).init(params())

        found = weight(unchanged, state)
        assert found.params.path == "[0]"
        assert found.optimizer.text == "2 x params + 4 B (count)"

    def test_a_state_without_params_has_no_optimizer(self):
        found = weight(unchanged, {"position": "f32[3]", "velocity": "f32[3]"})
        assert (found.params, found.optimizer) == (None, None)

    def test_what_is_no_whole_multiple_is_said_to_be_about_one(self):
        def state():
            return {"params": params(), "opt": {"mu": {"b": jnp.zeros(4)}}}

        assert weight(unchanged, state).optimizer.text == "about 0.111 x params"


class TestPeak:
    def test_without_donation_the_state_is_held_twice(self):
        peak = weight(unchanged, params).peak
        assert (peak.given, peak.returned, peak.reused, peak.held) == (144, 144, 0, 288)

    def test_a_leaf_that_grows_is_counted_as_it_comes_out(self):
        peak = weight(lambda state: jnp.concatenate([state, state]), "f32[4]").peak
        assert (peak.given, peak.returned) == (16, 32)

    def test_another_dtype_has_another_width(self):
        peak = weight(lambda state: state.astype(jnp.bfloat16), "f32[4]").peak
        assert (peak.given, peak.returned) == (16, 8)

    def test_what_no_output_reuses_is_held_beside_it(self):
        step = jax.jit(lambda state: state.astype(jnp.bfloat16), donate_argnums=0)
        peak = weight(step, "f32[4]").peak
        assert (peak.reused, peak.held) == (0, 24)


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1,023 B"), (1_050_624, "1,050,624 B (1.0 MiB)"), (2**62, f"{2**62:,} B (4096.0 PiB)")],
)
def test_bytes_are_exact_and_readable(count, text):
    assert in_bytes(count) == text
