"""States that went wrong in real libraries, written again in small: each is found, and its cost predicted.

A case is a module of `tests/cases`. `make()` gives a step, its state and its other arguments, `make_fixed()`
the same without the fault, and `WRAP` jits the step where a plain `jax.jit` would not do. `SOURCE` and
`PROBE` are codes of which one must be found; an empty tuple asks for nothing. What no step shows, a call of
`run()` does: `COSTS` says how many executables it makes or what it raises, and `run_fixed()` makes one.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import statelint
from tests.modules import load
from tests.reality import measure, measure_call
from tests.statelint_cli import lint

CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))
TRACED = [path for path in CASES if "def make()" in path.read_text()]
CALLED = [path for path in CASES if "def run()" in path.read_text()]
FIXED = [path for path in CASES if "def make_fixed()" in path.read_text()]


def name_of(path: Path) -> str:
    return path.stem


def build(path, maker):
    module = load(path)
    step, state, args = getattr(module, maker)()
    return module.WRAP(step) if hasattr(module, "WRAP") else step, state, args


def codes_of_probe(path, maker):
    """The codes that a trace draws; SL902 when there is no trace to be had."""
    step, state, args = build(path, maker)
    try:
        return {finding.code for finding in statelint.check(step, state, *args)}
    except Exception:
        return {"SL902"}


@pytest.fixture(scope="module")
def by_source():
    return lint(CASES, "--no-probe", "--isolated")


def codes_of_source(report, path, *, fixed):
    inside = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef) and node.name in ("make_fixed", "run_fixed")
    ]
    found = [finding for finding in report["diagnostics"] if finding["path"] == path]
    return {finding["code"] for finding in found if fixed == any(finding["line"] in lines for lines in inside)}


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_source(by_source, path):
    expected = set(load(path).SOURCE)
    found = codes_of_source(by_source, path, fixed=False)
    assert not expected or expected & found, found
    assert not codes_of_source(by_source, path, fixed=True)


@pytest.mark.parametrize("path", TRACED, ids=name_of)
def test_probe(path):
    assert set(load(path).PROBE) & codes_of_probe(path, "make")


@pytest.mark.parametrize("path", FIXED, ids=name_of)
def test_probe_of_the_fixed_case(path):
    assert not codes_of_probe(path, "make_fixed")


@pytest.mark.parametrize("path", TRACED, ids=name_of)
def test_prediction(path):
    predicted = predict(path, "make")
    seen = measure(*build(path, "make"))
    if seen.error is None or seen.donation_error is not None:
        assert predicted == {"loop": seen.loop, "restore": seen.restore}
    elif seen.error.startswith("call 1:"):
        assert predicted is None or predicted == {"loop": 0, "restore": 0}
    else:
        assert trace(path, "make").refused is not None


@pytest.mark.parametrize("path", FIXED, ids=name_of)
def test_prediction_of_the_fixed_case(path):
    seen = measure(*build(path, "make_fixed"))
    assert (seen.loop, seen.restore, seen.error) == (1, 0, None)
    assert predict(path, "make_fixed") == {"loop": 1, "restore": 0}


@pytest.mark.parametrize("path", CALLED, ids=name_of)
def test_calls(path):
    module = load(path)
    compiles, error = measure_call(module.run)
    assert compiles == module.COSTS or str(module.COSTS) in (error or "")
    assert measure_call(module.run_fixed) == (1, None)


def test_a_python_attribute_of_an_nnx_module_is_traced_at_every_call():
    assert load(Path(__file__).parent / "cases" / "nnx_counter.py").traces(calls=4) == 4


def trace(path, maker):
    step, state, args = build(path, maker)
    return statelint.trace(step, state, *args)


def predict(path, maker):
    """The executables predicted; None when the step cannot be traced."""
    try:
        executables = trace(path, maker).executables
    except Exception:
        return None
    return {"loop": executables.loop, "restore": executables.restore}
