"""The facts of a trace that need no other library, held against what JAX does where a number is claimed."""

import dataclasses
import functools
import inspect
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
import pytest
from flax.training.train_state import TrainState
from jax.experimental import sparse

from statelint import check, trace
from statelint.diagnostics import Severity
from tests.reality import measure


def line_of(function: Any, text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(number for number, line in enumerate(lines) if text in line)


# --- donation


DONATING = {
    "another dtype": (
        lambda s: {"a": s["a"].astype(jnp.bfloat16), "b": s["b"] * 2},
        "the output of its shape is bfloat16",
    ),
    "passed on": (lambda s: {"a": s["a"], "b": s["b"] + 1}, None),
    "replaced": (lambda s: {"a": jnp.ones(256), "b": s["b"] + 1}, "the step never uses it"),
    "halved": (lambda s: {"a": s["a"][:128] * 2, "b": s["b"] + 1}, "no output of its size is left"),
    "narrow and twice as long": (
        lambda s: {"a": s["a"].astype(jnp.bfloat16).repeat(2), "b": s["b"]},
        "no output of its size is left",
    ),
    "swapped": (lambda s: {"a": s["b"] * 2, "b": s["a"] + 1}, None),
}


@pytest.mark.parametrize("name", DONATING)
def test_the_donation_ledger_is_that_of_the_compiled_program(name: str) -> None:
    step, lost = DONATING[name]
    state = {"a": jnp.ones(256), "b": jnp.ones(256)}
    seen = trace(step, state, donate=0)
    with warnings.catch_warnings(action="ignore"):
        compiled = jax.jit(lambda s: step(s), donate_argnums=0).lower(state).compile()
    assert seen.donation is not None
    assert seen.donation.asked == 2048
    assert seen.donation.reused == compiled.memory_analysis().alias_size_in_bytes
    assert [leaf.lost for leaf in seen.leaves] == [lost, None]


def test_what_a_plain_step_will_donate() -> None:
    def step(state: Any, n: int) -> Any:
        return state * n

    assert trace(step, "f32[2]", 3, donate="state", static_argnames="n").donates is True
    assert trace(step, "f32[2]", 3, static_argnames="n").donates is False
    with pytest.raises(Exception, match="jitted already"):
        trace(jax.jit(step), "f32[2]", 3, donate=0)


def test_an_argument_that_is_a_leaf_of_the_state() -> None:
    shared = jnp.ones(3)
    step = jax.jit(lambda state, x: {"a": state["a"] + x}, donate_argnums=0)
    (finding,) = check(step, {"a": shared}, shared)
    assert (finding.code, finding.field) == ("SL401", "['a']")
    assert "args[0]" in finding.message
    with pytest.raises(Exception, match="donate"):
        step({"a": shared}, shared)


# --- classes


def registered(cls: Any) -> Any:
    return jax.tree_util.register_pytree_node_class(cls)


@registered
class Overwriting:
    def __init__(self, values: Any) -> None:
        self.values = {**values, "a": jnp.asarray(42)}

    def tree_flatten(self) -> Any:
        return (self.values,), None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> Any:
        return cls(children[0])


@registered
class Swapping:
    def __init__(self, one: Any, other: Any) -> None:
        self.one, self.other = one, other

    def tree_flatten(self) -> Any:
        return (self.other, self.one), None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> Any:
        return cls(*children)


def test_a_class_that_overwrites_a_leaf() -> None:
    state = Overwriting({"a": 1, "b": jnp.zeros(())})
    seen = trace(lambda s: jax.tree.map(lambda leaf: leaf + 1, s), state)
    (fault,) = seen.classes
    assert (fault.owner, fault.fault, fault.at and fault.at.line) == (
        "Overwriting",
        "converts",
        line_of(Overwriting, "def tree_unflatten"),
    )
    # What its unflatten makes weak again after a restore costs nothing there.
    assert (seen.executables.loop, seen.executables.restore) == (1, 0)
    (finding,) = check(lambda s: s, state)
    assert finding.code == "SL604"
    assert "not among the jax.jit executables" in finding.message


def test_a_class_that_swaps_its_leaves_inside_another() -> None:
    seen = trace(lambda s: s, {"outer": (Swapping(jnp.ones(2), jnp.ones(3)),)})
    assert [(fault.path, fault.owner, fault.fault) for fault in seen.classes] == [
        ("['outer'][0]", "Swapping", "reorders")
    ]


def test_classes_of_libraries_are_transparent() -> None:
    state = TrainState.create(apply_fn=str, params={"w": jnp.ones(3)}, tx=optax.adam(1e-3))
    assert trace(lambda s: s, state).classes == ()


@dataclasses.dataclass
class Unregistered:
    w: Any


def test_a_plain_dataclass_is_its_own_finding() -> None:
    (finding,) = check(lambda s: s, {"inner": Unregistered(jnp.ones(2))})
    assert finding.code == "SL601"
    (finding,) = check(lambda s: s, {"inner": {1, 2}})
    assert finding.code == "SL105"


# --- static values


def test_static_values_are_compared_with_their_rebuilt_selves() -> None:
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class State:
        w: Any
        fresh: Any = dataclasses.field(metadata={"static": True})
        kept: Any = dataclasses.field(metadata={"static": True})
        text: str = dataclasses.field(metadata={"static": True}, default="x")

    tx = optax.adam(1e-3)
    seen = trace(lambda s: s, lambda: State(jnp.ones(2), functools.partial(max, 1), tx))
    assert {static.name: static.rebuilt for static in seen.statics} == {"fresh": False, "kept": True, "text": True}
    assert {static.name: static.rebuilt for static in trace(lambda s: s, State(jnp.ones(2), max, tx)).statics} == {
        "fresh": True,
        "kept": None,
        "text": True,
    }


def test_aux_data_that_each_flatten_makes_anew_is_held_by_nobody() -> None:
    assert check(lambda m: m * 2, sparse.BCOO.fromdense(jnp.eye(3, dtype=jnp.float32))) == []

    @jax.tree_util.register_pytree_node_class
    class Model:
        def __init__(self, w: Any, sizes: Any, aux: Any) -> None:
            self.w, self.sizes, self.aux = w, sizes, aux

        def tree_flatten(self) -> Any:
            return (self.w,), self.aux(self.sizes)

        @classmethod
        def tree_unflatten(cls, aux: Any, children: Any) -> Any:
            return cls(*children, aux["sizes"] if isinstance(aux, dict) else aux, lambda sizes: aux)

    def codes(aux: Any, sizes: Any) -> list[str]:
        return [finding.code for finding in check(lambda s: s, Model(jnp.ones(2), sizes, aux))]

    assert codes(lambda sizes: sizes, [3]) == ["SL204"]
    assert codes(lambda sizes: {"sizes": sizes}, [3]) == ["SL204"]
    assert codes(lambda sizes: {"sizes": sizes}, (3,)) == []


# --- executables and what is to blame


def test_each_extra_executable_carries_its_cause() -> None:
    def create() -> Any:
        return {"mean": jnp.asarray(0.0), "count": 0}

    def step(state: Any, x: Any) -> Any:
        return {"mean": state["mean"] + x, "count": state["count"] + 1}

    seen = trace(step, create, "f32[]")
    assert (seen.executables.loop, seen.executables.restore) == (2, 1)
    assert [(extra.call, extra.path, extra.before, extra.after) for extra in seen.extras] == [
        (2, "['mean']", "weak float32[]", "float32[]"),
        (None, "['count']", "weak int32[]", "int32[]"),
    ]
    assert [extra.at.line for extra in seen.extras if extra.at] == [
        line_of(step, '"mean"'),
        line_of(create, '"count"'),
    ]


@pytest.mark.parametrize("how", ["flax", "orbax"])
def test_a_real_checkpoint(how: Any) -> None:
    pytest.importorskip("orbax.checkpoint" if how == "orbax" else "flax")
    if how == "orbax" and not hasattr(jax.monitoring, "record_scalar"):
        pytest.skip("this orbax needs a newer jax")
    seen = trace(lambda s: {"w": s["w"] * 2}, {"w": "f32[3]"}, restore=how, measure=True)
    # orbax commits what it restores (FACTS 16); flax's serialization gives NumPy arrays back.
    assert (seen.executables.loop, seen.executables.restore) == (1, 1 if how == "orbax" else 0)
    assert seen.measured == seen.executables


def test_measured_is_what_was_predicted() -> None:
    def step(state: Any) -> Any:
        return {"x": state["x"] * jnp.float32(2), "n": state["n"] + 1}

    seen = trace(step, lambda: {"x": jnp.asarray(1.0), "n": 0}, measure=True)
    assert seen.measured == seen.executables
    assert (seen.executables.loop, seen.executables.restore) == (2, 1)


def test_a_loop_that_settles_late_is_measured_to_its_end() -> None:
    def step(state: Any) -> Any:
        return {"line": [jnp.float32(1), *(leaf * 2 for leaf in state["line"][:-1])]}

    seen = trace(step, lambda: {"line": [jnp.asarray(1.0) for _ in range(14)]}, measure=True)
    assert seen.measured == seen.executables
    assert seen.executables.loop == 15


def test_half_committed_states() -> None:
    state = {"w": jax.device_put(jnp.ones(2), jax.devices()[0]), "n": jnp.zeros((), jnp.int32)}
    seen = trace(lambda s: {"w": s["w"] * 2, "n": s["n"] + 1}, state, measure=True)
    assert (seen.executables.loop, seen.executables.restore) == (2, 1)
    assert seen.measured == seen.executables
    (move,) = seen.leaves[0].moves
    assert (move.call, move.before, move.after) == (1, "uncommitted", "committed to cpu:0")


# --- provenance


def scale() -> Any:
    return jnp.asarray(1.0)


def create_with_helper() -> Any:
    return {"scale": scale(), "w": jnp.ones(3)}


def test_a_weak_leaf_of_a_helper_is_found_at_the_helpers_line() -> None:
    (finding,) = check(lambda s: s, create_with_helper)
    assert (finding.code, finding.location.line) == ("SL103", line_of(scale, "asarray"))


def make_params() -> Any:
    return {"w": jnp.ones((4, 4)), "b": jnp.zeros(4)}


def create_with_an_average() -> Any:
    params = make_params()
    return {"params": params, "ema": params}


class Sampler(NamedTuple):
    x: Any
    key: Any


def create_sampler() -> Any:
    return Sampler(jnp.zeros(3), jax.random.key(0))


def sample(sampler: Any) -> Any:
    noise = jax.random.normal(sampler.key, (3,))
    return sampler._replace(x=sampler.x + noise)


def test_a_tree_that_is_held_twice_is_found_where_it_is_put_the_second_time() -> None:
    (finding,) = check(lambda s: s, create_with_an_average)
    assert (finding.code, finding.location.line) == ("SL401", line_of(create_with_an_average, '"ema"'))


def test_a_key_that_nothing_sets_is_found_where_it_is_used() -> None:
    (finding,) = check(sample, create_sampler)
    assert (finding.code, finding.location.line) == ("SL305", line_of(sample, "normal"))


def test_the_step_counter_that_a_library_makes_is_to_be_replaced() -> None:
    (finding,) = [each for each in check(lambda s: s, create_with_flax) if each.code == "SL101"]
    assert finding.fix is not None
    assert finding.fix.message == "add `.replace(step=jnp.zeros((), jnp.int32))`"


def test_a_static_value_made_anew_is_only_advised_on() -> None:
    found = {each.code: each.severity for each in check(lambda s: s, create_with_flax)}
    assert found["SL205"] == Severity.INFO


LINESEARCH = optax.scale_by_backtracking_linesearch(4)


def create_with_optax() -> Any:
    return {
        "opt_state": LINESEARCH.init({"w": jnp.ones(3)}),
        "w": jnp.ones(3),
    }


def create_with_flax() -> Any:
    params = {"w": jnp.ones(3)}
    return TrainState.create(apply_fn=str, params=params, tx=optax.identity())


@pytest.mark.parametrize(
    ("factory", "code", "text", "library"),
    [
        (create_with_optax, "SL103", "LINESEARCH.init", "linesearch.py"),
        (create_with_flax, "SL101", "TrainState.create", "train_state.py"),
    ],
)
def test_a_leaf_of_a_library_is_found_at_the_users_line(factory: Any, code: str, text: str, library: str) -> None:
    found = [finding for finding in check(lambda s: s, factory) if finding.code == code]
    assert found
    for finding in found:
        assert finding.location.line == line_of(factory, text)
        assert library in {Path(related.location.path).name for related in finding.related}


def deepest() -> Any:
    value = 0.0
    return jnp.asarray(value)


def deeper() -> Any:
    return {"rate": deepest(), "bias": jnp.zeros(2)}


def create_through_two_helpers() -> Any:
    return {"inner": deeper(), "w": jnp.ones(3)}


create_jitted = jax.jit(create_through_two_helpers)


@pytest.mark.parametrize("factory", [create_through_two_helpers, create_jitted])
def test_a_weak_leaf_is_found_at_the_innermost_helpers_line(factory: Any) -> None:
    (finding,) = check(lambda s: s, factory)
    assert (finding.code, finding.field) == ("SL103", "['inner']['rate']")
    assert finding.location.line == line_of(deepest, "asarray")


def transform() -> Any:
    return optax.chain(optax.clip(1.0), LINESEARCH)


def create_with_a_helper_over_optax() -> Any:
    return {"opt_state": transform().init({"w": jnp.ones(3)})}


def test_a_leaf_of_optax_behind_a_helper_stands_at_the_line_that_calls_init() -> None:
    found = [finding for finding in check(lambda s: s, create_with_a_helper_over_optax) if finding.code == "SL103"]
    assert found
    for finding in found:
        assert finding.location.line == line_of(create_with_a_helper_over_optax, "transform().init")
        assert "linesearch.py" in {Path(related.location.path).name for related in finding.related}


# --- keys, names, classes that put themselves together otherwise


def create_with_both_keys() -> Any:
    return {
        "old": jax.random.PRNGKey(0),
        "new": jax.random.key(1),
    }


def test_keys_of_both_kinds_side_by_side_are_advice() -> None:
    def step(state: Any) -> Any:
        return {name: jax.random.split(key)[0] for name, key in state.items()}

    (finding,) = check(step, create_with_both_keys)
    assert (finding.code, finding.severity.value, finding.field) == ("SL702", "info", "['old']")
    assert finding.location.line == line_of(create_with_both_keys, "PRNGKey")
    assert line_of(create_with_both_keys, "random.key(1)") in {related.location.line for related in finding.related}
    # An array of the same form that no one draws from is no key.
    assert check(lambda s: {**s, "new": jax.random.split(s["new"])[0]}, create_with_both_keys) == []


def test_names_are_those_of_the_nearest_configuration(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.statelint]\ncounter-names = ["ticks"]\n')
    call = "check(lambda s: {**s}, {'ticks': 0, 'step': 0})"
    text = f"from statelint import check\nfound = {{f.field: f.code for f in {call}}}\n"
    (tmp_path / "train.py").write_text(text)
    code = compile(text, str(tmp_path / "train.py"), "exec")
    seen: dict[str, Any] = {"__name__": "train"}
    exec(code, seen)
    assert seen["found"] == {"['ticks']": "SL101", "['step']": "SL102"}


@jax.tree_util.register_pytree_node_class
class Restarting:
    """It makes one of its leaves anew whenever it is put together, by an operation that JAX compiles."""

    def __init__(self, values: Any) -> None:
        self.values = {**values, "scale": jnp.asarray(42) + 1}

    def tree_flatten(self) -> Any:
        return (self.values,), None

    @classmethod
    def tree_unflatten(cls, aux: Any, children: Any) -> Any:
        return cls(children[0])


def test_what_a_class_compiles_outside_the_step_is_none_of_its_executables() -> None:
    def step(state: Any) -> Any:
        return jax.tree.map(lambda leaf: leaf + 1, state)

    seen = trace(step, Restarting({"scale": 1, "bias": jnp.zeros(())}), measure=True)
    real = measure(step, Restarting({"scale": 1, "bias": jnp.zeros(())}))
    assert (seen.executables.loop, seen.executables.restore) == (real.loop, real.restore) == (1, 0)
    assert seen.measured == seen.executables


@pytest.mark.parametrize("how", [None, "flax"])
def test_a_state_that_is_committed_all_over_is_so_no_more_once_it_is_restored(how: Any) -> None:
    if how:
        pytest.importorskip("flax")
    state = jax.device_put({"w": jnp.ones(2), "n": jnp.zeros((), jnp.int32)}, jax.devices()[0])
    seen = trace(lambda s: {"w": s["w"] * 2, "n": s["n"] + 1}, state, restore=how, measure=True)
    assert (seen.executables.loop, seen.executables.restore) == (1, 1)
    assert seen.measured == seen.executables
    assert {(extra.call, extra.before, extra.after) for extra in seen.extras} == {
        (None, "committed to cpu:0", "uncommitted")
    }
    assert not any(leaf.moves for leaf in seen.leaves)
