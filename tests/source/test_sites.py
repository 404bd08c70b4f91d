"""Jit sites: what is jitted, how often, with which static arguments, and which methods go stale."""

from __future__ import annotations

import textwrap

import pytest

from statelint.model.callsites import JitSite, StaleAttribute, StaticArgument
from statelint.model.names import Names
from statelint.model.source import Kind
from statelint.source.project import Project

HEAD = """
import functools, random, time
from functools import partial
import equinox as eqx, flax.linen as nn, jax, numpy as np
import jax.numpy as jnp
from flax import nnx
from jax import jit, lax

def f(x, k=1):
    return x + k

class Trainer:
    rate = 0.1
    def move(self, x):
        return x - self.rate * x

trainer = Trainer()
"""


def parts(source: str, path: str = "train.py") -> list[object]:
    code = HEAD + textwrap.dedent(source)
    (reading,) = Project(Names()).read([(path, code.encode())])
    return list(reading.parts)


def again(source: str, path: str = "train.py") -> list[tuple[str, str | None]]:
    return [(part.wraps, part.again) for part in parts(source, path) if isinstance(part, JitSite)]


def in_loop(expression: str) -> str:
    return f"for x in xs:\n    y = {expression}(x)"


ANEW = {
    "jax.jit(lambda v: v + 1)": "lambda",
    "jit(lambda v: v + 1)": "lambda",
    "jax.pmap(lambda v: v + 1)": "lambda",
    "jax.jit(partial(f, k=2))": "partial",
    "jax.jit(jax.tree_util.Partial(f, k=2))": "partial",
    "jax.jit(jax.grad(f))": "transformed function",
    "jax.jit(jax.value_and_grad(f, has_aux=True))": "transformed function",
    "jax.jit(jax.vmap(f))": "transformed function",
    "partial(jax.jit, static_argnums=1)(lambda v, k: v)": "lambda",
    "jax.jit(trainer.move)": "bound method",
    "jax.jit(Trainer().move)": "bound method",
    "jax.jit(nn.Dense(3).apply)": "bound method",
    "eqx.filter_jit(lambda v: v)": "lambda",
    "eqx.filter_jit(partial(f, k=2))": "partial",
    "eqx.filter_jit(jax.grad(f))": "transformed function",
    "nnx.jit(f)": "function",
}

KNOWN = [
    "jax.jit(f)",
    "jax.jit(jnp.sum)",
    "jax.jit(f, static_argnums=1)",
    "jax.jit(step)",
    "jax.jit(tx.update)",
    "eqx.filter_jit(f)",
    "eqx.filter_jit(trainer.move)",
    "eqx.filter_jit(eqx.filter_grad(f))",
    "eqx.filter_jit(jax.tree_util.Partial(f, k=2))",
    "jax.pmap(trainer.move)",
    "jax.vmap(lambda v: v)",
]


@pytest.mark.parametrize(("expression", "wraps"), ANEW.items())
def test_new_at_each_turn(expression: str, wraps: str) -> None:
    assert again(in_loop(expression)) == [(wraps, "loop")]


@pytest.mark.parametrize("expression", KNOWN)
def test_known_at_each_turn(expression: str) -> None:
    assert all(when is None for _, when in again(in_loop(expression)))


WASTED = {
    "named in a loop": ("for x in xs:\n    g = jax.jit(lambda v: v)\n    y = g(x)", "loop"),
    "in a while": ("while True:\n    y = jax.jit(lambda v: v)(x)", "loop"),
    "in a comprehension": ("ys = [jax.jit(lambda v: v)(x) for x in xs]", "loop"),
    "decorated in a loop": ("for x in xs:\n    @jax.jit\n    def g(v): return v\n    y = g(x)", "loop"),
    "in a function's loop": ("def train(xs):\n    for x in xs:\n        x = jax.jit(jax.grad(f))(x)", "loop"),
    "name of a lambda": ("for x in xs:\n    h = lambda v: v\n    y = jax.jit(h)(x)", "loop"),
    "value baked in": ("for i in range(9):\n    y = jax.jit(lambda v: f(v, i))(x)", "loop"),
    "in a step": ("def step(x):\n    return jax.jit(lambda v: v)(x)", "step"),
    "named in a step": ("def train_step(x):\n    g = jax.jit(lambda v: v)\n    return g(x)", "step"),
    "decorated in a step": ("def train_step(x):\n    @jax.jit\n    def g(v): return v\n    return g(x)", "step"),
    "function that a loop calls": (
        "def go(x):\n    g = jax.jit(lambda v: v)\n    return g(x)\nfor _ in range(3):\n    x = go(x)",
        "step",
    ),
    "method": (
        "class A:\n    def go(self, x): return x\n    def update(self, x):\n        return jax.jit(self.go)(x)",
        "step",
    ),
    "call of a module": ("class A:\n    def __call__(self, x):\n        return jax.jit(lambda v: v)(x)", "step"),
    "called at once": ("def solve(x):\n    return jax.jit(lambda v: v)(x)", "call"),
    "local function": ("def solve(x):\n    def g(v): return v\n    return jax.jit(g)(x)", "call"),
}

KEPT = {
    "module level": "g = jax.jit(lambda v: v)",
    "called at module level": "y = jax.jit(lambda v: v)(x)",
    "decorator": "@jax.jit\ndef g(v): return v",
    "before the loop": "def main():\n    g = jax.jit(lambda v: v)\n    for x in xs:\n        y = g(x)",
    "before the loop of a step": "def run_steps(x):\n    g = jax.jit(lambda v: v)\n    for x in xs:\n        y = g(x)",
    "returned": "def make_train_step(rate):\n    return jax.jit(lambda v: v * rate)",
    "returned by name": "def train_step(rate):\n    g = jax.jit(lambda v: v * rate)\n    return g",
    "decorated and returned": "def step_for(rate):\n    @jax.jit\n    def g(v): return v * rate\n    return g",
    "on self": "class A:\n    def __init__(self):\n        self.g = jax.jit(lambda v: v)",
    "on self in a step": "class A:\n    def step(self):\n        self.g = jit(self.go)\n    def go(self, x): return",
    "in a dict": "for k in ks:\n    table[k] = jax.jit(lambda v: v)",
    "in a list": "gs = [jax.jit(lambda v: v) for _ in xs]",
    "passed on": "def solve(x):\n    return measure(jax.jit(lambda v: v), x)",
    "cached": "@functools.cache\ndef solve(n):\n    return jax.jit(lambda v: v)(jnp.zeros(n))",
    "made once": "g = None\nfor x in xs:\n    if g is None:\n        g = jax.jit(lambda v: v)\n    y = g(x)",
    "partial before the loop": "def train(xs):\n    p = partial(f, k=2)\n    for x in xs:\n        y = jax.jit(p)(x)",
    "local function before the loop": "def train(xs):\n    def p(v): return v\n    for x in xs:\n        jit(p)(x)",
    "compiled ahead": "def step(x):\n    return jax.jit(lambda v: v).lower(x).compile()",
    "builder": "def create_state(key):\n    return jax.jit(lambda k: k)(key)",
    "program": "def main():\n    return jax.jit(lambda v: v)(3)",
    "test": "def test_it():\n    assert jax.jit(lambda v: v)(3) == 3",
    "test with a loop": "def test_it():\n    for x in xs:\n        assert jax.jit(lambda v: v)(x) == x",
    "under a jit": "@jax.jit\ndef step(x):\n    return jax.jit(lambda v: v)(x)",
    "called under a jit": "def step(x):\n    return jax.jit(lambda v: v)(x)\n@jax.jit\ndef g(x):\n    return step(x)",
    "each its own": "for g in gs:\n    y = jax.jit(lambda v: g(v))(x)",
    "each its own method": "for env in envs:\n    y = jax.jit(env.reset)(x)",
    "each its own gradient": "for g in gs:\n    y = jax.jit(jax.grad(g))(x)",
    "a sweep": "for k in ks:\n    g = jax.jit(partial(f, k=k))\n    for x in xs:\n        x = g(x)",
}


@pytest.mark.parametrize(("source", "when"), WASTED.values(), ids=WASTED)
def test_jitted_anew(source: str, when: str) -> None:
    assert when in [found for _, found in again(source)]


@pytest.mark.parametrize("source", KEPT.values(), ids=KEPT)
def test_jitted_once(source: str) -> None:
    assert [when for _, when in again(source) if when is not None] == []


def test_files_of_tests_are_left_alone() -> None:
    source = "def solve(x):\n    return jax.jit(lambda v: v)(x)"
    assert again(source, "pkg/solve_test.py") == [("lambda", None)]
    assert again(source, "tests/conftest.py") == [("lambda", None)]


EAGER = "for x in xs:\n    y, _ = lax.scan(lambda c, _: (c, None), x, None, length=3)"


def test_eager_loops_of_lax() -> None:
    indented = textwrap.indent(EAGER, "    ")
    assert again(EAGER) == [("lambda", "loop")]
    assert again(f"def main():\n{indented}") == [("lambda", "loop")]
    assert again(f"def go(xs):\n{indented}\n        y.block_until_ready()") == [("lambda", "loop")]
    assert again(f"def go(xs):\n{indented}") == []
    assert again(f"@jax.jit\ndef main(xs):\n{indented}") == [("function", None)]
    assert again("def body(c, _): return c, None\nfor x in xs:\n    lax.scan(body, x, None, length=3)") == []


# Static arguments.


def static(source: str) -> list[tuple[str, Kind, bool]]:
    found = [part for part in parts("g = jax.jit(f, static_argnums=1)\n" + source) if isinstance(part, StaticArgument)]
    return [(part.text, part.kind, part.varies is not None) for part in found]


VARYING = [
    "for i in range(100):\n    g(x, i)",
    "for i in range(100):\n    g(x, k=i)",
    "for i, x in enumerate(xs):\n    g(x, i)",
    "for i in range(100):\n    g(x, 2 * i + 1)",
    "for i in range(n):\n    for x in xs:\n        g(x, i)",
    "i = 0\nwhile True:\n    g(x, i)\n    i += 1",
    "for x in xs:\n    g(x, time.time())",
    "for x in xs:\n    g(x, random.random())",
    "for i in range(100):\n    @partial(jax.jit, static_argnames='k')\n    def h(x, k): return x\n    g(x, i)",
]

STEADY = [
    "for i in range(3):\n    g(x, i)",
    "for mode in ('train', 'eval'):\n    g(x, mode)",
    "for i in range(100):\n    g(x, i % 2 == 0)",
    "for i in range(100):\n    g(i, 3)",
    "for i in range(100):\n    pass\ng(x, i)",
    "def test_it():\n    for i in range(100):\n        g(x, i)",
    "@jax.jit\ndef h(x):\n    for i in range(100):\n        x = g(x, i)\n    return x",
    "for x in xs:\n    g(x, n)",
    "g(x, time.time())",
]


@pytest.mark.parametrize("source", VARYING)
def test_varying(source: str) -> None:
    assert [varies for _, _, varies in static(source)] == [True]


@pytest.mark.parametrize("source", STEADY)
def test_steady(source: str) -> None:
    assert static(source) == []


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("g(x, [1, 2])", Kind.LIST),
        ("g(x, k=[1, 2])", Kind.LIST),
        ("g(x, [n for n in ns])", Kind.LIST),
        ("g(x, {'a': 1})", Kind.DICT),
        ("g(x, {1, 2})", Kind.SET),
        ("g(x, list(ns))", Kind.LIST),
        ("g(x, np.ones(2))", Kind.NUMPY),
        ("g(x, jnp.ones(2))", Kind.ARRAY),
        ("axes = [0, 1]\ng(x, axes)", Kind.LIST),
        ("for name, k in (('a', (1, 2)), ('b', [1, 2])):\n    g(x, k)", Kind.LIST),
    ],
)
def test_unhashable(source: str, kind: Kind) -> None:
    assert static(source)[0][1] is kind


@pytest.mark.parametrize(
    "source",
    [
        "g(x, (1, 2))",
        "g([1, 2], 3)",
        "g(x, np.float32(1))",
        "g(x, jnp.float32)",
        "def h(k):\n    return g(x, k)",
        "import pytest\nwith pytest.raises(ValueError):\n    g(x, [1])",
    ],
)
def test_hashable(source: str) -> None:
    assert not any(kind.is_mutable or kind.is_array for _, kind, _ in static(source))


# Methods.

CHANGES = """
    def decay(self):
        self.rate = self.rate * 0.5
"""


def stale(body: str, after: str = "", head: str = "class Net:") -> list[tuple[str, str, bool]]:
    lines = [
        head,
        "    def __init__(self):\n        self.rate = 0.1\n        self.step = None",
        textwrap.indent(textwrap.dedent(body), "    "),
    ]
    found = [part for part in parts("\n".join(lines) + "\n" + after) if isinstance(part, StaleAttribute)]
    return [(part.method, part.attribute, part.bound) for part in found]


STATIC = "@partial(jax.jit, static_argnums=0)\ndef move(self, x):\n    return x - self.rate * x\n"
DECAY = "def decay(self):\n    self.rate *= 0.5\n"


def test_static_self() -> None:
    assert stale(STATIC + DECAY) == [("Net.move", "rate", False)]
    assert stale(STATIC.replace("static_argnums=0", "static_argnames='self'") + DECAY) == [("Net.move", "rate", False)]
    assert stale(STATIC.replace("static_argnums=0", "static_argnums=(0, 1)") + DECAY) == [("Net.move", "rate", False)]


def test_attribute_read_through_another_method() -> None:
    body = STATIC.replace("self.rate * x", "self.scaled(x)") + "def scaled(self, x):\n    return self.rate * x\n"
    assert stale(body + DECAY) == [("Net.move", "rate", False)]


def test_attribute_changed_from_outside() -> None:
    assert stale(STATIC, "net = Net()\nnet.rate = 0.5") == [("Net.move", "rate", False)]


def test_bound_method_that_is_kept() -> None:
    body = "def move(self, x):\n    return x - self.rate * x\ndef build(self):\n    self.step = jax.jit(self.move)\n"
    assert stale(body + DECAY) == [("Net.move", "rate", True)]


@pytest.mark.parametrize(
    "body",
    [
        STATIC,
        STATIC + "def count(self):\n    self.calls = 1\n",
        STATIC + DECAY + "def __hash__(self):\n    return hash(self.rate)\n",
        STATIC.replace("static_argnums=0", "static_argnums=1") + DECAY,
        "def move(self, x):\n    return jax.jit(self.move)(x) - self.rate\n" + DECAY,
    ],
)
def test_nothing_goes_stale(body: str) -> None:
    assert stale(body) == []


def test_what_only_the_constructor_calls_builds() -> None:
    body = STATIC + "def reset(self):\n    self.rate = 0.1\n"
    assert stale(body + "def __post_init__(self):\n    self.reset()\n") == []
