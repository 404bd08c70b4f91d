"""Reads after donation: what is followed, and what is left alone."""

from __future__ import annotations

import textwrap

import pytest

from statelint.model.callsites import DonatedRead
from statelint.model.names import Names
from statelint.source.project import Project

HEAD = """
import functools, contextlib, pytest
import equinox as eqx, jax, numpy as np
import jax.numpy as jnp
from flax import nnx

def update(state, batch):
    return state + batch

step = jax.jit(update, donate_argnums=0)
"""


def reads(source: str) -> list[DonatedRead]:
    code = HEAD + textwrap.dedent(source)
    (reading,) = Project(Names()).read([("train.py", code.encode())])
    return [part for part in reading.parts if isinstance(part, DonatedRead)]


def lines(source: str) -> list[str]:
    """What is read, with the line, counted from 1 in the source."""
    first = HEAD.count("\n") + 1
    return [f"{read.at.line - first + 1}: {read.path}" for read in reads(source)]


FAULTS = {
    "read": ("new = step(x, b)\nprint(x)", ["2: x"]),
    "part": ("new = step(x, b)\nprint(x['w'])", ["2: x['w']"]),
    "whole of a part": ("new = step(x['w'], b)\nprint(x['w'])", ["2: x['w']"]),
    "attribute": (
        """
        class Trainer:
            def run(self, b):
                new = step(self.state, b)
                return new, self.state.params
        """,
        ["5: self.state.params"],
    ),
    "other name": ("old = x\nx = step(x, b)\nprint(old - x)", ["3: old"]),
    "other name of a part": ("w = x['w']\nx = step(x, b)\nprint(w)", ["3: w"]),
    "entry of a tuple": ("new = step((p, o), b)\nprint(o)", ["2: o"]),
    "keyword": ("new = step(state=x, batch=b)\nprint(x)", ["2: x"]),
    "next turn": ("for b in batches:\n    new = step(x, b)", ["2: x"]),
    "next turn of a while": ("while True:\n    new = step(x, b)\n    if new: break", ["2: x"]),
    "comprehension": ("news = [step(x, b) for b in batches]", ["1: x"]),
    "one branch": ("if c:\n    new = step(x, b)\nelse:\n    new = x\nprint(x)", ["5: x"]),
    "after a try": ("try:\n    new = step(x, b)\n    check(new)\nexcept ValueError:\n    print(x)", ["5: x"]),
    "finally": ("try:\n    new = step(x, b)\nfinally:\n    save(x)", ["4: x"]),
    "finally after a return": (
        "def f(x, b):\n    try:\n        y = step(x, b)\n        return y\n    finally:\n        save(x)",
        ["6: x"],
    ),
    "closure": ("def show():\n    return x.sum()\nnew = step(x, b)\nshow()", ["4: x"]),
    "lambda": ("new = step(x, b)\nlater = lambda: x + 1", ["2: x"]),
    "second call": ("a = step(x, b)\nc = step(x, b)", ["2: x"]),
    "augmented": ("new = step(x, b)\nx += 1", ["2: x"]),
    "in a loop before a break": ("for b in bs:\n    new = step(x, b)\n    print(x)\n    break", ["3: x"]),
    "direct call": ("new = jax.jit(update, donate_argnums=(0,))(x, b)\nprint(x)", ["2: x"]),
    "names": ("f = jax.jit(update, donate_argnames=('batch',))\nf(x, b)\nprint(x, b)", ["3: b"]),
    "negative number": ("f = jax.jit(update, donate_argnums=-1)\nf(x, b)\nprint(x, b)", ["3: b"]),
    "constant of the module": ("D = (0,)\nf = jax.jit(update, donate_argnums=D)\nf(x, b)\nprint(x, b)", ["4: x"]),
    "decorator": (
        """
        @functools.partial(jax.jit, donate_argnums=(1,))
        def f(a, state):
            return state
        new = f(y, x)
        print(x, y)
        """,
        ["6: x"],
    ),
    "decorator without partial": ("@jax.jit(donate_argnames='s')\ndef f(s): return s\nf(x)\nprint(x)", ["4: x"]),
    "method": (
        """
        class Trainer:
            @functools.partial(jax.jit, static_argnums=0, donate_argnums=1)
            def step(self, state):
                return state
            def run(self, state):
                new = self.step(state)
                return new, state
        """,
        ["8: state"],
    ),
    "kept on self": (
        """
        class Trainer:
            def __init__(self):
                self.step = jax.jit(update, donate_argnums=0)
            def run(self, state, b):
                new = self.step(state, b)
                return new, state
        """,
        ["7: state"],
    ),
    "made by a function": (
        """
        def make_step():
            @functools.partial(jax.jit, donate_argnums=0)
            def inner(s, b):
                return s
            return inner
        def train(x, bs):
            run = make_step()
            for b in bs:
                y = run(x, b)
            return y
        """,
        ["10: x"],
    ),
    "jitted under its own name": ("update = jax.jit(update, donate_argnums=0)\nupdate(x, b)\nprint(x)", ["3: x"]),
    "equinox all": ("f = eqx.filter_jit(update, donate='all')\nf(x, b)\nprint(x, b)", ["3: x", "3: b"]),
    "equinox but the first": ("f = eqx.filter_jit(update, donate='all-except-first')\nf(x, b)\nx, b", ["3: b"]),
    "nnx": ("f = nnx.jit(update, donate_argnums=0)\nf(x, b)\nprint(x)", ["3: x"]),
    "pmap": ("f = jax.pmap(update, donate_argnums=0)\nf(x, b)\nprint(x)", ["3: x"]),
}

HARMLESS = {
    "bound again": "x = step(x, b)\nprint(x)",
    "bound again in a loop": "for b in bs:\n    x = step(x, b)\nprint(x)",
    "bound again in a while": "while going:\n    x = step(x, b)\n    if x: continue\nprint(x)",
    "bound again with more": "for b in bs:\n    x, loss = step(x, b)\nprint(x, loss)",
    "bound again after": "new = step(x, b)\nx = new\nprint(x)",
    "swapped": "for b in bs:\n    new = step(x, b)\n    x, y = new, 1\nprint(x)",
    "bound in both branches": "if c:\n    x = step(x, b)\nelse:\n    x = slow(x, b)\nprint(x)",
    "early return": "def f(x, b):\n    if b:\n        return step(x, b)\n    return x",
    "early raise": "def f(x, b):\n    try:\n        x = step(x)\n    except ValueError:\n        raise\n    return x",
    "one turn": "for b in bs:\n    new = step(x, b)\n    break",
    "new at each turn": "for b in bs:\n    x = make()\n    y = step(x, b)",
    "loop's own": "for x in xs:\n    y = step(x, b)",
    "shape": "new = step(x, b)\nprint(x.shape, x.dtype, x['w'].ndim, len(x), jnp.zeros_like(x), x is None)",
    "abstract": "new = step(x, b)\njax.eval_shape(update, x, b)\njax.tree.structure(x)",
    "numpy": "x = np.ones(3)\nnew = step(x, b)\nprint(x)",
    "numpy in a dict": "x = {'w': np.ones(3)}\nnew = step(x, b)\nprint(x)",
    "copy": "new = step(jnp.copy(x), b)\nprint(x)",
    "other argument": "new = step(x, b)\nprint(b)",
    "deleted": "new = step(x, b)\ndel x",
    "expected": "new = step(x, b)\nwith pytest.raises(RuntimeError):\n    print(x)",
    "static fields": "new = step(state, b)\nstate = state.replace(params=new)\nprint(state)",
    "unknown options": "f = jax.jit(update, donate_argnums=numbers())\nf(x, b)\nprint(x)",
    "nothing donated": "f = jax.jit(update)\nf(x, b)\nprint(x)",
    "equinox none": "f = eqx.filter_jit(update, donate='none')\nf(x, b)\nprint(x)",
    "another of the name": "def f(step, x, b):\n    new = step(x, b)\n    return x",
    "under a trace": "@jax.jit\ndef f(x, b):\n    new = step(x, b)\n    return x + new",
    "called under a trace": "def f(x, b):\n    new = step(x, b)\n    return x + new\ng = jax.vmap(f)",
    "other part": "new = step(state.params, b)\nprint(state.opt)",
    "method puts it back": (
        """
        class Trainer:
            def run(self, b):
                new = step(self.state, b)
                self.keep(new)
                return self.state
        """
    ),
    "attribute bound again": (
        """
        class Trainer:
            def run(self, bs):
                for b in bs:
                    self.state, loss = step(self.state, b)
                return self.state
        """
    ),
    "subscript bound again": "for b in bs:\n    s['w'] = step(s['w'], b)\nprint(s['w'])",
    "closure called before": "def show():\n    return x.sum()\nshow()\nnew = step(x, b)",
    "parameter of a lambda": "new = step(x, b)\njax.tree.map(lambda x: x + 1, new)",
    "starred": "new = step(*args)\nprint(args)",
}


@pytest.mark.parametrize(("source", "expected"), FAULTS.values(), ids=FAULTS)
def test_found(source: str, expected: list[str]) -> None:
    assert lines(source) == expected


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS)
def test_left_alone(source: str) -> None:
    assert lines(source) == []


def test_the_next_turn_is_told_apart() -> None:
    (again,) = reads("for b in batches:\n    new = step(x, b)")
    (further,) = reads("new = step(x, b)\nprint(x)")
    assert (again.next_turn, further.next_turn) == (True, False)


def test_a_break_outside_a_loop_is_no_matter() -> None:
    assert lines("new = step(x, b)\nif b:\n    break\nif x:\n    continue") == ["4: x"]


def test_loops_in_loops_are_no_burden() -> None:
    loops = [f"{'    ' * depth}for b{depth} in bs:" for depth in range(18)]
    assert lines("\n".join([*loops, f"{'    ' * 18}new = step(x, b0)"])) == ["19: x"]


def test_deep_code_is_reported_as_not_checked() -> None:
    deep = " + ".join(["x"] * 3000)
    code = HEAD + f"def f(x, b):\n    new = step(x, b)\n    return {deep}\n"
    (reading,) = Project(Names()).read([("train.py", code.encode())])
    assert any("too deeply" in getattr(part, "message", "") for part in reading.parts)
