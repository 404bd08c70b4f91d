"""At which line of the user's a leaf is put in the state, and given back by the step."""

from __future__ import annotations

from pathlib import Path

import pytest

from statelint.probe.blame import Code
from statelint.probe.nodes import describe
from tests.modules import load
from tests.statelint_cli import lint

HEAD = """
import jax
import jax.numpy as jnp
from typing import NamedTuple
from statelint import trace

class Pair(NamedTuple):
    step: object
    w: object
"""

FACTORIES = {
    "a dead dict before": """
    other = {"params": 1, "step": 0}
    return {"w": jnp.zeros(3), "step": 0}  # here
""",
    "a dead dict behind": """
    state = {"w": jnp.zeros(3), "step": 0}  # here
    other = {"params": 1, "step": 0}
    return state
""",
    "a dict inside": """
    return {
        "inner": {"step": jnp.zeros(2)},
        "step": 0,  # here
    }
""",
    "a dict inside by name": """
    inner = {"step": jnp.zeros(2)}
    return {"inner": inner,
            "step": 0}  # here
""",
    "set later": """
    state = {"w": jnp.zeros(3), "step": 5}
    other = {"step": 1}
    state["step"] = 0  # here
    other["step"] = 2
    return state
""",
    "a name set twice": """
    state = {"step": 5}
    kept = state
    state = {"step": 0}  # here
    kept["step"] = 2
    return state
""",
    "a call with such a keyword": """
    print(dict(step=1), end="")
    return dict(w=jnp.zeros(3), step=0)  # here
""",
    "a constructor by position": """
    other = Pair(1, 2)
    settings = dict(step=3)
    return Pair(0, jnp.zeros(3))  # here
""",
    "a spread": """
    base = {"w": jnp.zeros(3), "step": 0}  # here
    other = {"step": 1}
    return {**base, "key": jax.random.key(0)}
""",
    "a copy": """
    base = {"w": jnp.zeros(3), "step": 5}
    other = {"step": 1}
    return dict(base, step=0)  # here
""",
    "a helper": """
    other = {"step": 1}
    return helper()

def helper():
    dead = {"step": 3}
    return {"w": jnp.zeros(3), "step": 0}  # here
""",
    "two returns": """
    if len(FACTORY) < 0:
        return {"step": 1, "w": jnp.zeros(3)}
    return {"step": 0, "w": jnp.zeros(3)}  # here
""",
}


def _module(tmp_path: Path, text: str):
    path = tmp_path / "train.py"
    path.write_text(text)
    line = next(number for number, each in enumerate(text.splitlines(), start=1) if each.endswith("# here"))
    return load(path), line


@pytest.mark.parametrize("body", FACTORIES.values(), ids=FACTORIES)
def test_a_literal_stands_where_the_returned_state_has_it(tmp_path, body):
    module, line = _module(tmp_path, f'{HEAD}\nFACTORY = "x"\ndef init_state():{body}\n')
    found = module.trace(lambda state: state, module.init_state)
    (leaf,) = [leaf for leaf in found.leaves if leaf.name == "step" and leaf.python_type == "int"]
    assert leaf.placed.line == line


@pytest.mark.parametrize(
    ("factory", "options"),
    [
        ('return {"step": 1, "loss": 0.0}, {"w": jnp.zeros(3), "step": 0}  # here', {"state_returns": 1}),
        ('return {"other": {"step": 1}, "state": {"w": jnp.zeros(3), "step": 0}}  # here', {"state_returns": "state"}),
    ],
)
def test_a_part_of_what_the_factory_returns(tmp_path, factory, options):
    module, line = _module(tmp_path, f"{HEAD}\ndef init_state():\n    {factory}\n")
    found = module.trace(lambda state: state, module.init_state, **options)
    (leaf,) = [leaf for leaf in found.leaves if leaf.name == "step"]
    text = factory[factory.index('"w"') :]
    assert leaf.placed.line == line
    assert leaf.placed.column == 5 + factory.index(text) + text.index('"step": ') + len('"step": ')


STEPS = {
    "metrics of the same name": """
    new = {
        "w": state["w"] * 2,
        "step": jnp.asarray(state["step"], float),  # here
    }
    return new, {"step": state["step"] + 0.5}
""",
    "metrics before": """
    return {"step": state["step"] + 0.5}, {
        "w": state["w"] * 2,
        "step": jnp.asarray(state["step"], float),  # here
    }
""",
}


@pytest.mark.parametrize("body", STEPS.values(), ids=STEPS)
def test_the_state_is_told_from_what_stands_beside_it(tmp_path, body):
    module, line = _module(tmp_path, f"{HEAD}\ndef step(state):{body}\n")
    found = module.trace(module.step, {"w": "f32[3]", "step": "i32[]"})
    (leaf,) = [leaf for leaf in found.leaves if leaf.name == "step"]
    assert leaf.produced.line == line
    where = [(1,)] if "return {" in body else [(0,)]
    (node,) = [node for node in describe({"w": 0, "step": 0}).leaves() if node.name == "step"]
    assert Code(module.step, where).sets(node)["line"] == line


def test_source_and_probe_report_it_once(tmp_path):
    (tmp_path / "train.py").write_text(
        "import jax\nimport jax.numpy as jnp\nfrom statelint import Probe\n\n"
        "def init_state():\n"
        '    other = {"params": 1, "opt_state": 2, "step": 0}\n'
        '    return {"w": jnp.zeros(3), "step": 0, "key": jax.random.key(0)}\n\n'
        '@jax.jit\ndef step(state):\n    return {**state, "step": state["step"] + 1, '
        '"key": jax.random.split(state["key"])[0]}\n\n'
        "probe = Probe(step, init_state)\n"
    )
    found = lint(["train.py"], "--isolated", "--no-cache", cwd=tmp_path)["diagnostics"]
    assert [(each["code"], each["line"], each["detector"]) for each in found] == [("SL101", 7, "both")]
