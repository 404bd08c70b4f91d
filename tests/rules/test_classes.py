"""What the rules say of classes: how JAX takes them apart and puts them together."""

from __future__ import annotations

import textwrap

import pytest

from tests.rules.test_source_rules import said

HEAD = """
import collections
import jax_dataclasses as jdc, simple_pytree
import penzai.pz as pz
import orbax.checkpoint as ocp
from flax import serialization
from flax.training import checkpoints
from jax.tree_util import register_pytree_node, register_pytree_node_class, register_pytree_with_keys_class
from simple_pytree import Pytree, static_field
"""


def found(source: str, *families: str) -> list[tuple[str, str | None]]:
    return [each for each in said(HEAD + textwrap.dedent(source)) if each[0].startswith(families or ("SL6", "SL7"))]


NODE = """
@register_pytree_node_class
class Node:
    def __init__(self, a, b, n=3):
{init}
    def tree_flatten(self):
        return (self.a, self.b), (self.n,)
    @classmethod
    def tree_unflatten(cls, aux, children):
{unflatten}
"""


def node(init: str, unflatten: str) -> str:
    return NODE.format(init=textwrap.indent(init, " " * 8), unflatten=textwrap.indent(unflatten, " " * 8))


KEEPS = "self.a = a\nself.b = b\nself.n = n"
THROUGH = "return cls(*children, *aux)"


class TestUnflatten:
    def test_a_constructor_that_keeps(self) -> None:
        assert found(node(KEEPS, THROUGH)) == []

    @pytest.mark.parametrize(
        ("init", "leaf"),
        [
            ("assert a.shape == b.shape\n" + KEEPS, "a"),
            ("if a.ndim != 2:\n    raise ValueError\n" + KEEPS, "a"),
            ("if not isinstance(b, jax.Array):\n    raise TypeError('b')\n" + KEEPS, "b"),
            ("self.a = jnp.asarray(a)\nself.b = b\nself.n = n", "a"),
            ("self.a = a\nself.b = np.array(b, dtype=np.float32)\nself.n = n", "b"),
        ],
    )
    def test_a_constructor_that_disturbs(self, init: str, leaf: str) -> None:
        assert found(node(init, THROUGH)) == [("SL604", leaf)]

    def test_unflatten_beside_the_constructor(self) -> None:
        around = "node = object.__new__(cls)\nnode.a, node.b = children\nnode.n = aux[0]\nreturn node"
        assert found(node("assert a.ndim == 2\n" + KEEPS, around)) == []

    @pytest.mark.parametrize(
        "init",
        [
            "assert n > 0\n" + KEEPS,  # aux data may be checked
            "if isinstance(a, jax.Array):\n    assert a.ndim == 2\n" + KEEPS,  # only of arrays
            "self.a = a\nself.b = b\nself.n = jnp.asarray(n)",
        ],
    )
    def test_what_is_no_leaf_may_be_checked(self, init: str) -> None:
        assert [code for code, _ in found(node(init, THROUGH)) if code == "SL604"] == []

    @pytest.mark.parametrize(
        ("unflatten", "expected"),
        [
            ("b, a = children\nreturn cls(b, a)", []),
            ("return cls(children[1], children[0])", [("SL602", "b")]),
            ("return cls(b=children[0], a=children[1])", [("SL602", "a")]),
            ("x, y = children\nreturn cls(a=x, b=y)", []),
            ("node = object.__new__(cls)\nnode.b, node.a = children\nreturn node", [("SL602", "a")]),
        ],
    )
    def test_order(self, unflatten: str, expected: list[tuple[str, str | None]]) -> None:
        assert found(node(KEEPS, unflatten)) == expected

    def test_array_in_aux(self) -> None:
        assert found(node("self.a = a\nself.b = b\nself.n = np.arange(n)", THROUGH)) == [("SL603", "n")]

    def test_functions_beside_the_class(self) -> None:
        assert found("""
            class Box:
                def __init__(self, low, high):
                    self.low, self.high = low, high
            def flatten(box):
                return (box.low, box.high), None
            def unflatten(aux, children):
                high, low = children
                return Box(low, high)
            register_pytree_node(Box, flatten, unflatten)
        """) == [("SL602", "high")]

    @pytest.mark.parametrize("mark", ["@struct.dataclass", "@chex.dataclass", "@jax.tree_util.register_dataclass"])
    def test_post_init_of_a_dataclass(self, mark: str) -> None:
        assert found(f"""
            {mark}
            @dataclasses.dataclass
            class Track:
                speed: jax.Array
                def __post_init__(self):
                    assert self.speed.ndim == 1
        """) == [("SL604", "speed")]

    def test_equinox_goes_around_the_constructor(self) -> None:
        assert (
            found("""
            class Layer(eqx.Module):
                w: jax.Array
                def __init__(self, w):
                    self.w = jnp.asarray(w)
        """)
            == []
        )

    def test_static_field_may_be_checked(self) -> None:
        assert (
            found("""
            @struct.dataclass
            class Grid:
                cells: jax.Array
                shape: tuple = struct.field(pytree_node=False)
                def __post_init__(self):
                    assert len(self.shape) == 2
        """)
            == []
        )

    def test_constructor_of_other_names(self) -> None:
        assert found("""
            @jax.tree_util.register_dataclass
            @dataclasses.dataclass
            class X:
                x: jax.Array
                def __init__(self, *, y):
                    self.x = y
        """) == [("SL604", "x")]


class TestMarks:
    @pytest.mark.parametrize(
        ("head", "static"),
        [
            ("@jdc.pytree_dataclass\nclass A:", "n: jdc.Static[int]"),
            ("@jdc.pytree_dataclass\nclass A:", "n: int = jdc.static_field()"),
            ("class A(Pytree):", "n: int = static_field()"),
            ("class A(eqx.Module):", "n: int = eqx.field(static=True)"),
            ("@pz.pytree_dataclass\nclass A:", "n: int = dataclasses.field(metadata={'pytree_node': False})"),
        ],
    )
    def test_ways_to_mark(self, head: str, static: str) -> None:
        source = f"{head}\n    x: jax.Array\n    {static}\na = A(jnp.ones(3), jnp.ones(2))\n"
        assert found(source, "SL203") == [("SL203", "n")]

    @pytest.mark.parametrize("base", ["@struct.dataclass\nclass {name}{bases}:", "class {name}({equinox}):"])
    def test_mark_lost(self, base: str) -> None:
        mark = "struct.field(pytree_node=False, default=2)" if "struct" in base else "eqx.field(static=True, default=2)"
        first = base.format(name="A", bases="", equinox="eqx.Module")
        second = base.format(name="B", bases="(A)", equinox="A")
        kept = f"{first}\n    n: int = {mark}\n{second}\n    n: int = {mark}\n"
        lost = f"{first}\n    n: int = {mark}\n{second}\n    n: int = 3\n"
        assert found(kept) == []
        assert found(lost) == [("SL605", "n")]


class TestLeaves:
    def test_texts_and_sets(self) -> None:
        assert found(
            """
            @struct.dataclass
            class TrainState:
                w: jax.Array
                name: str
                tags: typing.Any
                note: typing.Optional[str] = None
            state = TrainState(jnp.ones(3), "adam", {"a", "b"})
        """,
            "SL105",
        ) == [("SL105", "name"), ("SL105", "tags")]

    def test_equinox_holds_them_static(self) -> None:
        assert found("class LoopState(eqx.Module):\n    name: str\n", "SL105") == []


class TestPlainDataclass:
    def test_jitted_step(self) -> None:
        source = """
            @dataclasses.dataclass
            class LoopState:
                w: jax.Array
            @functools.partial(jax.jit, donate_argnums=0)
            def step(state: LoopState):
                return state
        """
        assert found(source) == [("SL601", None)]

    @pytest.mark.parametrize(
        "more",
        [
            "jax.tree_util.register_dataclass(LoopState, ['w'], [])",
            "register_pytree_node(LoopState, lambda s: ((s.w,), None), lambda _, c: LoopState(*c))",
            "jax.tree_util.register_static(LoopState)",
        ],
    )
    def test_registered(self, more: str) -> None:
        head = "@dataclasses.dataclass\nclass LoopState:\n    w: jax.Array\n"
        assert found(f"{head}{more}\n@jax.jit\ndef step(state: LoopState): return state") == []

    def test_carry_of_a_loop(self) -> None:
        assert found("""
            @dataclasses.dataclass
            class Carry:
                x: jax.Array
            def run(xs):
                def body(c, x):
                    return Carry(c.x + x), None
                return lax.scan(body, Carry(jnp.zeros(2)), xs)
        """) == [("SL601", None)]

    def test_static_argument(self) -> None:
        head = "@dataclasses.dataclass(frozen=True)\nclass Config:\n    w: int\n"
        jit = "@functools.partial(jax.jit, static_argnames='config')\n"
        assert found(f"{head}{jit}def step(state, config: Config): return state") == []


class TestRestore:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("state = serialization.msgpack_restore(data)", 1),
            ("state = checkpoints.restore_checkpoint('dir', None)", 1),
            ("state = checkpoints.restore_checkpoint('dir', target=None, step=3)", 1),
            ("state = checkpoints.restore_checkpoint('dir', target)", 0),
            ("c = ocp.StandardCheckpointer()\nstate = c.restore('dir')", 1),
            ("state = ocp.PyTreeCheckpointer().restore('dir')", 1),
            ("c = ocp.StandardCheckpointer()\nstate = c.restore('dir', target)", 0),
            ("c = ocp.PyTreeCheckpointer()\nstate = c.restore('dir', item=target)", 0),
            ("with ocp.StandardCheckpointer() as c:\n    opt_state = c.restore('dir')", 1),
            ("settings = serialization.msgpack_restore(data)", 0),
            ("raw_state = serialization.msgpack_restore(d)\ns = serialization.from_state_dict(t, raw_state)", 0),
            ("state = pool.restore('dir')", 0),
        ],
    )
    def test_target(self, source: str, expected: int) -> None:
        assert len(found(source)) == expected
