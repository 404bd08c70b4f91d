"""The lesson's figures: what an optimizer weighs, what a number's type costs, what a step keeps."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from tests.modules import load
from tests.reality import executables, measure, measure_probe

LESSON = Path(__file__).parent.parent / "fixtures" / "lesson"

adam = load(LESSON / "adam.py")
step_number = load(LESSON / "step_number.py")
train_state = load(LESSON / "train_state.py")
kinds = load(LESSON / "kinds_of_field.py")


def avals(tree):
    return " ".join(f"{leaf.dtype}{list(leaf.shape)}".replace(" ", "") for leaf in jax.tree.leaves(tree))


class TestAdam:
    def test_the_moments_mirror_the_parameters(self):
        params, state = adam.init_params(), adam.init_adam(adam.init_params())
        assert jax.tree.structure(state["mu"]) == jax.tree.structure(params)
        assert jax.tree.structure(state["nu"]) == jax.tree.structure(params)

    def test_leaves_come_in_the_order_of_the_sorted_keys(self):
        state = jax.eval_shape(lambda: adam.init_adam(adam.init_params()))
        assert avals(state) == "int32[] float32[512] float32[512,512] float32[512] float32[512,512]"

    def test_the_state_weighs_twice_the_parameters_and_one_count(self):
        params = jax.eval_shape(adam.init_params)
        state = jax.eval_shape(adam.init_adam, params)
        assert adam.nbytes(params) == 1_050_624
        assert adam.nbytes(state) == 2_101_252 == 2 * adam.nbytes(params) + 4

    def test_it_compiles_once_and_learns(self):
        seen = measure_probe(adam.train)
        assert (seen.loop, seen.restore, seen.error) == (1, 0, None)


class TestStepNumber:
    def test_a_python_int_is_weak_and_an_array_strong(self):
        weak, strong = step_number.aval(0), step_number.aval(jnp.zeros((), jnp.int32))
        assert (weak.dtype, weak.shape, weak.weak_type) == (jnp.int32, (), True)
        assert (strong.dtype, strong.shape, strong.weak_type) == (jnp.int32, (), False)

    def test_three_calls_trace_twice(self):
        assert [aval.weak_type for aval in step_number.three_calls()] == [True, False]

    @pytest.mark.parametrize("zero", [step_number.python_zero, step_number.array_zero])
    def test_donation_reuses_four_bytes_of_either(self, zero):
        assert step_number.alias_bytes(zero()) == 4

    def test_the_python_int_costs_one_executable_and_only_after_a_restore(self):
        weak, strong = measure_probe(step_number.weak), measure_probe(step_number.strong)
        assert (weak.loop, weak.restore) == (1, 1)
        assert (strong.loop, strong.restore) == (1, 0)


class TestTrainState:
    @pytest.fixture
    def traced(self):
        inputs = jax.ShapeDtypeStruct((16, 8), jnp.float32)
        targets = jax.ShapeDtypeStruct((16, 4), jnp.float32)
        return jax.eval_shape(train_state.train_step, train_state.create_state(), inputs, targets)

    def test_the_step_keeps_the_treedef(self, traced):
        state, _ = traced
        assert jax.tree.structure(state) == jax.tree.structure(train_state.create_state())

    def test_leaves_come_in_the_order_of_the_fields(self, traced):
        state, loss = traced
        assert avals(state) == "float32[4] float32[8,4] float32[4] float32[8,4] int32[]"
        assert avals(state) == avals(train_state.create_state())
        assert avals(loss) == "float32[]"

    def test_it_compiles_once(self):
        seen = measure_probe(train_state.train)
        assert (seen.loop, seen.restore) == (1, 0)


class TestKindsOfField:
    def test_a_field_is_a_leaf_or_part_of_the_structure(self):
        state = kinds.create_state()
        assert kinds.leaf_paths(state) == [".weight", ".moments['mu']", ".moments['nu']", ".step"]
        assert "tanh" in str(jax.tree.structure(state))

    def test_leaves_may_change_and_structure_may_not(self):
        state = kinds.create_state()
        heavier = dataclasses.replace(state, weight=state.weight * 2, step=7)
        assert executables(kinds.train_step, [state, heavier]) == 1
        assert executables(kinds.train_step, [kinds.create_state("tanh"), kinds.create_state("relu")]) == 2

    def test_leaves_are_donated_and_structure_is_not(self):
        lowered = jax.jit(lambda state: kinds.train_step(state), donate_argnums=0).lower(kinds.create_state())
        donated = [info.donated for info in jax.tree.leaves(lowered.args_info, is_leaf=lambda x: hasattr(x, "donated"))]
        assert donated == [True] * 4
        assert lowered.compile().memory_analysis().alias_size_in_bytes == 3 * 16 + 4

    def test_a_python_number_costs_nothing_until_its_array_arrives(self):
        seen = measure(kinds.train_step, kinds.create_state)
        assert (seen.loop, seen.restore) == (1, 1)
