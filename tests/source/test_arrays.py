"""The table of functions, held against JAX."""

from __future__ import annotations

import ast

import pytest

from statelint.source import arrays
from statelint.source.scope import Scope
from statelint.source.terms import from_ast

jax = pytest.importorskip("jax")

ARGUMENTS = {
    "jax.numpy.full": "(2,), 1.0",
    "jax.lax.full": "(2,), 1.0",
    "jax.numpy.full_like": "1.0, 2.0",
    "jax.numpy.where": "True, 1.0, 0.0",
    "jax.lax.select": "jax.numpy.zeros((), bool), 1.0, 0.0",
    "jax.numpy.broadcast_to": "1.0, (2,)",
    "jax.numpy.tile": "1.0, 2",
    "jax.numpy.repeat": "1.0, 2",
    "jax.numpy.reshape": "1.0, (1,)",
    "jax.numpy.expand_dims": "1.0, 0",
    "jax.numpy.clip": "0.5, 0, 1",
    "jax.numpy.concatenate": "[jax.numpy.full((1,), 1.0)]",
    **dict.fromkeys(("jax.numpy.stack", "jax.numpy.hstack", "jax.numpy.vstack"), "[1.0, 2.0]"),
}


def is_weak(code: str) -> bool:
    return Scope("", dict, lambda name: name).is_weak(from_ast(ast.parse(code, mode="eval").body))


def really_weak(code: str) -> bool:
    return bool(jax.eval_shape(lambda: eval(code, {"jax": jax})).weak_type)


@pytest.mark.parametrize("name", sorted(arrays.WEAK_OF))
def test_weak_of_weak(name: str) -> None:
    arguments = ARGUMENTS.get(name) or ", ".join(["0.5"] * len(arrays.WEAK_OF[name]))
    code = f"{name}({arguments})"
    assert is_weak(code)
    assert really_weak(code)


@pytest.mark.parametrize("name", sorted(arrays.DTYPE_AT))
def test_dtype_by_position_makes_it_strong(name: str) -> None:
    code = f"{name}({ARGUMENTS.get(name, '0.5')}, "
    at = arrays.DTYPE_AT[name]
    given = len(ast.parse(f"{code[:-2]})", mode="eval").body.args)  # type: ignore[attr-defined]
    code += "0, " * (at - given) + "jax.numpy.float32)"
    if name in arrays.SEQUENCES:
        pytest.skip("takes its dtype by keyword")
    assert not is_weak(code)
    assert not really_weak(code)


@pytest.mark.parametrize(
    "code",
    [
        "jax.numpy.array([0.0])",
        "jax.numpy.asarray(True)",
        "jax.numpy.sum(1.0)",
        "jax.numpy.zeros(())",
        "jax.numpy.float32(0)",
        "jax.numpy.full_like(jax.numpy.ones(2), 1.0)",
        "jax.numpy.ones(2) * 2.0",
        "jax.numpy.stack([1.0, 2.0], dtype=jax.numpy.float32)",
    ],
)
def test_strong(code: str) -> None:
    assert not is_weak(code)
    assert not really_weak(code)
