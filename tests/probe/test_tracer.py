"""What the tracer sees, held against real jit where a number is claimed."""

import collections
import dataclasses
import functools
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from statelint import check, trace
from statelint.model.trace import StepTrace
from statelint.probe import jaxprs
from statelint.probe.tracer import trace as facts_of
from tests.reality import measure


def leaf(seen: StepTrace, path: str) -> Any:
    return next(leaf for leaf in seen.leaves if leaf.path == path)


class Moments(NamedTuple):
    mu: Any
    nu: Any


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Train:
    params: Any
    moments: Moments
    step: Any
    name: str = dataclasses.field(metadata={"static": True}, default="run")


def test_leaves_are_in_the_treedef_order_by_the_paths_a_user_writes() -> None:
    state = Train({"w": jnp.ones((2, 3)), "b": jnp.ones(3)}, Moments([jnp.ones(1)], None), 0)
    seen = trace(lambda s: s, state)
    assert [leaf.path for leaf in seen.leaves] == ["params['b']", "params['w']", "moments.mu[0]", "step"]
    assert [str(leaf.aval) for leaf in seen.leaves] == ["float32[3]", "float32[2,3]", "float32[1]", "int32[]"]
    assert [leaf.held for leaf in seen.leaves] == ["array", "array", "array", "python"]
    assert leaf(seen, "params['w']").nbytes == 24
    assert [(static.path, static.value, static.owner) for static in seen.statics] == [("name", "'run'", "Train")]


def test_a_factory_is_traced_and_allocates_nothing() -> None:
    def create(size: jax.Array) -> dict[str, jax.Array]:
        assert isinstance(size, jax.core.Tracer)
        return {"w": jnp.zeros((10**6, 10**6, 10)), "like": size}

    seen = trace(lambda s: s, create, state_args=("f32[100000,100000]",))
    assert [leaf.nbytes for leaf in seen.leaves] == [4 * 10**10, 4 * 10**13]


def test_a_factory_that_refuses_tracers_is_called_for_real() -> None:
    def create(x: jax.Array) -> Any:
        return {"n": int(x.sum()), "x": np.asarray(x)}

    seen = trace(lambda s: {"n": s["n"] + 1, "x": s["x"]}, create, state_args=("f32[3]",))
    assert [(leaf.path, leaf.held) for leaf in seen.leaves] == [("['n']", "python"), ("['x']", "numpy")]


@pytest.mark.parametrize(
    ("text", "aval"),
    [
        ("f32[16,8]", "float32[16,8]"),
        ("bf16[4]", "bfloat16[4]"),
        ("i32[]", "int32[]"),
        ("u8[2, 3]", "uint8[2,3]"),
        ("bool[4]", "bool[4]"),
        ("c64[]", "complex64[]"),
        ("float32[1]", "float32[1]"),
        ("f64[1]", "float32[1]"),
        ("f8_e4m3fn[1]", "float8_e4m3fn[1]"),
        ("key<fry>[]", "key<fry>[]"),
        ("key<rbg>[2]", "key<rbg>[2]"),
        ("~f32[]", "float32[]"),
    ],
)
def test_notation(text: str, aval: str) -> None:
    (seen,) = trace(lambda s, x: s, {"x": text}, text).leaves
    assert str(seen.aval) == aval
    assert seen.aval is not None
    assert seen.aval.weak == text.startswith("~")


@pytest.mark.parametrize("text", ["f33[3]", "key<none>[]", "x32[1]", "f32[16,8", "f32[a]", "key<fry>["])
def test_malformed_notation(text: str) -> None:
    with pytest.raises(ValueError, match=r"no such|not JAX's notation"):
        trace(lambda s: s, {"x": text})


def test_arguments_that_jit_refuses() -> None:
    for args, message in (
        (("adam",), "args holds 'adam'"),
        ((len,), "args holds len"),
        ({"x": 1.0}, "args is no list"),
    ):
        with pytest.raises(Exception, match=message):
            facts_of(lambda s, x: s, jnp.zeros(3), args)


def test_arrays_in_aux_data_of_every_kind() -> None:
    @jax.tree_util.register_pytree_node_class
    class Box:
        def __init__(self, inner: Any, table: Any) -> None:
            self.inner, self.table = inner, table

        def tree_flatten(self) -> Any:
            return (self.inner,), self.table

        @classmethod
        def tree_unflatten(cls, table: Any, children: Any) -> "Box":
            return cls(*children, table)

    for table in (np.ones(2), jnp.ones(2)):
        (static,) = trace(lambda s: s, Box(jnp.ones(2), table)).statics
        assert (static.path, static.kind) == ("aux", "array")


def test_a_check_for_leaked_tracers_is_not_met() -> None:
    jax.config.update("jax_check_tracer_leaks", True)
    try:
        assert trace(lambda s: s, lambda: jnp.zeros(3)).executables.loop == 1
        assert jax.config.jax_check_tracer_leaks
    finally:
        jax.config.update("jax_check_tracer_leaks", False)


def test_notation_is_resolved_in_every_container() -> None:
    def step(state: Any, batch: Any) -> Any:
        x, (y, named) = batch
        return state + x.sum() + y.sum() + named["z"].sum()

    seen = trace(step, "f32[]", ("f32[2]", ["f32[3]", {"z": "f32[4]"}]))
    assert seen.executables.loop == 1


def test_x64() -> None:
    state = {"x": "f64[]", "n": 0}
    assert [str(leaf.aval) for leaf in trace(lambda s: s, state, x64=True).leaves] == ["int64[]", "float64[]"]
    assert [str(leaf.aval) for leaf in trace(lambda s: s, state).leaves] == ["int32[]", "float32[]"]


def test_where_the_state_stands_in_the_result() -> None:
    state = (jnp.ones(3), jnp.zeros((), jnp.int32))

    def new(s: Any) -> Any:
        return s[0] * 2, s[1] + 1

    class Result(NamedTuple):
        loss: Any
        state: Any

    for step, returns in (
        (new, None),
        (lambda s: (new(s), jnp.zeros(2)), None),
        (lambda s: (jnp.zeros(2), new(s)), None),
        (lambda s: [jnp.zeros(()), new(s), {}], None),
        (lambda s: Result(jnp.zeros(()), new(s)), "state"),
        (lambda s: {"aux": 1, "new": {"state": new(s)}}, ("new", "state")),
        (lambda s: (jnp.zeros(2), new(s)), 1),
    ):
        seen = trace(step, state, returns=returns)
        assert (seen.executables.loop, seen.structure) == (1, ()), step


def test_a_result_without_the_state() -> None:
    with pytest.raises(Exception, match="holds nothing like the state"):
        trace(lambda s: (jnp.zeros(()), "x"), {"w": jnp.ones(3)})
    with pytest.raises(Exception, match="returns = 3: the step's result has no 3"):
        trace(lambda s: (s, 1), {"w": jnp.ones(3)}, returns=3)


def test_state_argnum() -> None:
    tx = optax.adam(1e-3)
    grads = {"w": "f32[8,4]"}
    seen = trace(tx.update, tx.init, grads, grads, state_args=(grads,), state_argnum=1, returns=1)
    assert (seen.executables.loop, seen.executables.restore) == (1, 0)
    with pytest.raises(Exception, match="state_argnum = 3"):
        trace(tx.update, tx.init, grads, state_args=(grads,), state_argnum=3)


def test_donation_is_read_from_the_jit() -> None:
    def step(state: Any, batch: Any) -> Any:
        return jax.tree.map(lambda x: x + batch.sum(), state)

    state = {"a": jnp.ones(3), "b": jnp.ones(2)}
    assert trace(step, state, "f32[2]").donates is None
    assert trace(jax.jit(step), state, "f32[2]").donates is False
    assert trace(jax.jit(step, donate_argnums=1), state, "f32[2]").donates is False
    donating = trace(functools.partial(jax.jit(step, donate_argnums=0)), state, "f32[2]")
    assert donating.donates is True
    assert [leaf.donated for leaf in donating.leaves] == [True, True]


def test_static_arguments_of_a_jitted_step_are_given_as_they_are() -> None:
    step = jax.jit(lambda state, n, name: state + len(name) * n, static_argnums=(1, 2))
    assert trace(step, jnp.zeros(3), 3, "four").executables.loop == 1


def test_shared_buffers_of_a_traced_factory() -> None:
    def create() -> Any:
        zeros = jnp.zeros(3)
        count = jnp.zeros((), jnp.int32)
        return {
            "mu": zeros,
            "same": jnp.asarray(zeros),
            "put": jax.device_put(zeros),
            "copied": jnp.copy(zeros),
            "added": zeros + 0,
            "own": jnp.zeros(3),
            "count": count,
            "count_again": count,
            "python": 0,
            "python_again": 0,
        }

    shares = {leaf.name: leaf.shares for leaf in trace(lambda s: s, create).leaves}
    assert shares["mu"] == shares["same"] == shares["put"] is not None
    assert shares["count"] == shares["count_again"] is not None
    assert shares["count"] != shares["mu"]
    assert {shares[name] for name in ("copied", "added", "own", "python", "python_again")} == {None}
    assert {leaf.shares for leaf in trace(lambda s: s, jax.jit(create)).leaves} == {None}


def test_shared_buffers_are_those_that_donation_refuses() -> None:
    zeros = jnp.zeros(3)
    state = {"mu": zeros, "nu": jnp.asarray(zeros), "own": jnp.zeros(3)}
    shares = {leaf.name: leaf.shares for leaf in trace(lambda s: s, state).leaves}
    assert shares == {"mu": 0, "nu": 0, "own": None}
    with pytest.raises(Exception, match="donate the same buffer twice"):
        jax.jit(lambda s: jax.tree.map(lambda x: x + 1, s), donate_argnums=0)(state)


def test_a_growing_leaf_is_a_new_executable_at_every_call() -> None:
    seen = trace(lambda s: jnp.append(s, 1.0), jnp.zeros(1))
    assert seen.executables.loop is None
    assert seen.leaves[0].drift is not None
    assert seen.leaves[0].drift.cause == "shape"


def test_a_long_chain_of_weak_leaves_is_followed_to_its_end() -> None:
    def step(state: Any, x: Any) -> Any:
        return [state[0] + x] + [a + b for a, b in zip(state[1:], state[:-1], strict=True)]

    length = 20
    compiled = []

    @jax.jit
    def counted(state: Any, x: Any) -> Any:
        compiled.append(1)
        return step(state, x)

    state: Any = [0.0] * length
    for _ in range(length + 5):
        state = counted(state, jnp.float16(1))
    assert trace(step, [0.0] * length, "f16[]").executables.loop == len(compiled) == length + 1


def test_a_cycle_of_keys_costs_its_length() -> None:
    def step(state: Any) -> Any:
        return {"x": state["x"].astype(jnp.float16 if state["x"].dtype == jnp.float32 else jnp.float32)}

    assert trace(step, {"x": jnp.zeros(3)}).executables.loop == 2


def test_a_state_that_the_next_call_refuses() -> None:
    seen = trace(lambda s: jnp.zeros(3) if s.ndim == 0 else s.reshape(()), jnp.zeros(()))
    assert seen.refused is not None
    assert (seen.executables.loop, seen.refused.call) == (1, 2)
    assert "reshape" in seen.refused.error


def test_structure_differences_are_told_by_path() -> None:
    class Other(NamedTuple):
        mu: Any
        nu: Any

    def step(state: Any) -> Any:
        return {
            "moments": Other(*state["moments"]),
            "aux": jnp.zeros(()),
            "list": tuple(state["list"]),
            "added": 1,
        }

    state = {"moments": Moments(jnp.ones(1), jnp.ones(1)), "aux": None, "list": [jnp.ones(1)], "dropped": ()}
    changes = {change.path: (change.before, change.after) for change in trace(step, state).structure}
    assert changes == {
        "['moments']": ("Moments", "Other"),
        "['aux']": ("None", "a leaf"),
        "['list']": ("list", "tuple"),
        "['added']": (None, "a leaf"),
        "['dropped']": ("an empty tuple", None),
    }


def test_what_the_treedefs_of_dicts_hold_besides_their_keys() -> None:
    def counted(state: Any) -> Any:
        return collections.defaultdict(lambda: 0, {key: leaf * 2 for key, leaf in state.items()})

    def turned(state: Any) -> Any:
        state = collections.OrderedDict(state)
        state.move_to_end("b")
        return state

    found = check(counted, lambda: collections.defaultdict(int, a=jnp.zeros(2)))
    assert [(each.code, each.field) for each in found] == [("SL202", "default_factory")]
    (only,) = check(turned, lambda: collections.OrderedDict(b=jnp.ones(2), a=jnp.ones(1)))
    assert "state.keys() is static, and the step changes it from ('b', 'a') to ('a', 'b')" in only.message
    (only,) = check(
        lambda s: type(s)({**s, "c": s["a"]}), lambda: collections.OrderedDict(b=jnp.ones(2), a=jnp.ones(1))
    )
    assert only.code == "SL301"


def test_what_a_jit_calls_is_opened_once_for_all_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(
        jaxprs.Jaxpr, "__init__", lambda self, jaxpr: made.append(jaxpr) or setattr(self, "jaxpr", jaxpr)
    )
    trace(jax.jit(lambda s: [leaf * 2 for leaf in s]), lambda: [jnp.ones(3) for _ in range(100)])
    assert 0 < len(made) < 10


def test_a_container_that_grows_is_told_of_once() -> None:
    (only,) = check(lambda state: {"h": [*state["h"], jnp.zeros(())]}, lambda: {"h": []})
    assert (only.code, only.field) == ("SL301", "['h'][0]")
    assert only.message.endswith("compiles anew at every call, still at call 33")


def test_a_class_without_keys_is_told_by_its_attributes() -> None:
    @jax.tree_util.register_pytree_node_class
    class Box:
        def __init__(self, inner: Any, size: int) -> None:
            self.inner, self.size = inner, size

        def tree_flatten(self) -> Any:
            return (self.inner,), self.size

        @classmethod
        def tree_unflatten(cls, size: int, children: Any) -> "Box":
            return cls(*children, size)

    seen = trace(lambda s: Box(jax.tree.map(lambda x: x * 2, s.inner), s.size + 1), Box({"w": jnp.ones(2)}, 3))
    assert [leaf.path for leaf in seen.leaves] == ["inner['w']"]
    assert [(static.path, static.kind, static.changed, static.after) for static in seen.statics] == [
        ("aux", "number", True, "4")
    ]
    assert seen.executables.loop is None


def test_places_in_the_users_source() -> None:
    def helper() -> Any:
        return jnp.where(jnp.ones(()) > 0, 1.0, 0.0)

    def create() -> Any:
        return {
            "made": helper(),
            "literal": 0,
            "weak": jnp.asarray(0.0),
        }

    def step(state: Any) -> Any:
        return {
            "made": state["made"] * jnp.float32(2),
            "literal": state["literal"],
            "weak": state["weak"],
        }

    seen = trace(step, create)
    first = helper.__code__.co_firstlineno
    lines = {leaf.name: leaf.made.line - first for leaf in seen.leaves if leaf.made}
    assert lines == {"made": 1, "literal": 6, "weak": 7}
    assert seen.leaves[1].name == "made"
    assert seen.leaves[1].produced.line == step.__code__.co_firstlineno + 2


def test_a_default_is_placed_at_its_class() -> None:
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class State:
        w: Any
        n: int = 0

    seen = trace(lambda s: dataclasses.replace(s, n=s.n + 1), lambda: State(jnp.ones(1)))
    assert seen.leaves[1].made is not None
    assert Path(__file__).read_text().split("\n")[seen.leaves[1].made.line - 1].strip() == "n: int = 0"


@pytest.mark.parametrize(("turns", "loop"), [(12, 12), (30, 30), (40, None)])
def test_a_static_field_that_comes_round(turns: int, loop: int | None) -> None:
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Turning:
        w: Any
        n: int = dataclasses.field(metadata={"static": True})

    def turn(state: Turning) -> Turning:
        return Turning(state.w + 1, (state.n + 1) % turns)

    assert trace(turn, lambda: Turning(jnp.zeros(3), 0)).executables.loop == loop
    real = measure(turn, lambda: Turning(jnp.zeros(3), 0), calls=turns + 1 if loop else 33)
    assert real.loop == loop
    (finding,) = check(turn, lambda: Turning(jnp.zeros(3), 0))
    assert finding.message.endswith("compiles anew at every call, still at call 33") == (loop is None)


def test_of_two_results_alike_the_one_of_the_same_dtype_is_the_state() -> None:
    def step(w: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda w: (w - 1.0) ** 2)(w)
        return loss.astype(jnp.float16), w - 0.1 * gradient

    assert check(step, lambda: jnp.float32(3)) == []
    assert trace(step, lambda: jnp.float32(3)).executables.loop == 1
    assert measure(step, lambda: jnp.float32(3), returns=1).loop == 1
