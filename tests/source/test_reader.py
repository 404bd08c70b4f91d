"""What of a file is read, and what is passed by."""

from __future__ import annotations

import ast

import pytest

from statelint import rules
from statelint.model.names import Names
from statelint.source.project import Project
from statelint.source.text import Text
from statelint.source.tree import Tree
from statelint.source.walking import WITH_NAMES, below, walk

HEAD = """import dataclasses
import jax
import jax.numpy as jnp
from dataclasses import replace as renewed
from flax import nnx, struct

@struct.dataclass
class TrainState:
    w: jax.Array
    step: jax.Array

"""
LINES = HEAD.count("\n")


def findings(source: str) -> list[tuple[str, int, int]]:
    readings = Project(Names()).read([("train.py", (HEAD + source).encode())])
    found = [each for reading in readings for each in rules.in_source(reading.parts)]
    shown = [each for each in found if rules.load()[each.code].rule.default]
    return sorted((each.code, each.location.line - LINES, each.location.column) for each in shown)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("s = TrainState(w, 0)", [("SL101", 1, 19)]),
        ("state = renewed(state, step=0)", [("SL101", 1, 29)]),
        ("run(state={'w': jnp.ones(3), 'step': 0})", [("SL101", 1, 38)]),
        ("job = {'state': {'w': jnp.ones(3), 'step': 0}}", [("SL101", 1, 44)]),
        ("def init():\n    found = (jnp.ones(3), 0)\n    return found", [("SL102", 2, 27)]),
        ("def f():\n    def g():\n        return TrainState(w, 0)", [("SL101", 3, 30)]),
        ("if x:\n    for y in z:\n        with y:\n            TrainState(w, 0)", [("SL101", 4, 27)]),
        ("try:\n    pass\nexcept E:\n    TrainState(w, 0)", [("SL101", 4, 19)]),
        ("match x:\n    case 1:\n        TrainState(w, 0)", [("SL101", 3, 23)]),
        ("async def f():\n    return TrainState(w, 0)", [("SL101", 2, 26)]),
        ("s = [TrainState(w, 0) for w in x]", [("SL101", 1, 20)]),
        ("f = lambda w: TrainState(w, 0)", [("SL101", 1, 29)]),
        ("@nnx.jit\ndef f(model):\n    model.count += 1", [("SL101", 3, 5)]),
        ("def f(model):\n    model.count = model.count + 1\ng = nnx.jit(f)", [("SL101", 2, 5)]),
    ],
)
def test_is_read(source: str, expected: list[tuple[str, int, int]]) -> None:
    assert findings(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "print(f'{TrainState(w, 0)}')",
        "def f(s=TrainState(w, 0)): ...",
        "expected = TrainState(w, 0)",
        "a, *step = w, jnp.ones(3)\ns = TrainState(w, step)",
    ],
)
def test_is_passed_by(source: str) -> None:
    assert findings(source) == []


@pytest.mark.parametrize(
    "between",
    [
        "def train():\n    return jax.lax.scan(body, START, None)",
        "def run(f, carry):\n    return jax.lax.scan(f, carry, None)\ndef train():\n    return run(body, START)",
        "def train():\n    f = jax.jit(body)\n    return jax.lax.scan(f, START, None)",
        "def make():\n    return body\ndef train():\n    f = make()\n    return jax.lax.scan(f, START, None)",
        "class T:\n    def go(self):\n        return self.run(body)\n"
        "    def run(self, f):\n        return jax.lax.scan(f, START, None)",
        "def train():\n    def inner(x):\n        return jax.lax.scan(body, START, x)\n    return inner",
    ],
)
def test_a_step_meets_its_state_wherever_it_is_handed_on(between: str) -> None:
    source = (
        "START = {'w': jnp.ones(3), 'n': jnp.zeros((), jnp.int32)}\n"
        "def body(carry, x):\n    return {'w': carry['w'], 'n': carry['n'] + 1.0}, x\n"
    )
    assert [code for code, *_ in findings(source + between)] == ["SL302"]


def test_walks_pass_by_what_holds_nothing() -> None:
    tree = ast.parse("def f(a: int = 1) -> str:\n    return [x.y for x in a if 'b' < x and -x]\nimport os")
    assert {type(node).__name__ for node in walk([tree])} == {
        *("Module", "FunctionDef", "arguments", "Return", "ListComp", "Attribute", "comprehension"),
        *("BoolOp", "Compare", "UnaryOp", "Import"),
    }
    names = [node.id for node in walk([tree], WITH_NAMES) if isinstance(node, ast.Name)]
    assert sorted(names) == ["a", "x", "x", "x", "x"]
    assert [type(node) for node in below(tree)] == [ast.FunctionDef, ast.Import]


def test_a_tree_knows_what_is_imported() -> None:
    tree = Tree(ast.parse("import jax\nfrom a import b as c"))
    assert [node.name for node in tree.nodes if isinstance(node, ast.alias)] == ["jax", "b"]


@pytest.mark.parametrize(
    ("source", "column"),
    [("def step(): ...", 5), ("async  def\tstep(): ...", 12), ("if 1:\n    é = 1; y = 2\n    def step(): ...", 9)],
)
def test_the_name_of_a_function(source: str, column: int) -> None:
    nodes = walk([ast.parse(source)])
    function = next(node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    place = Text("a.py", source).name(function)
    assert (place.line, place.column, place.end_column) == (source.count("\n") + 1, column, column + len("step"))
