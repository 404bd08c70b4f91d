"""What the rules say of call sites, and what JAX makes of each thing that their pages claim."""

from __future__ import annotations

import dataclasses
import functools
import textwrap
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from statelint import rules
from statelint.diagnostics import Diagnostic, Severity
from statelint.model.names import Names
from statelint.source.project import Project
from tests.reality import measure_call

HEAD = """
import functools, jax, numpy as np, equinox as eqx
from flax import nnx
import jax.numpy as jnp
from jax import lax
"""


def lint(source: str) -> list[Diagnostic]:
    code = HEAD + textwrap.dedent(source)
    readings = Project(Names()).read([("train.py", code.encode())])
    return [finding for reading in readings for finding in rules.in_source(reading.parts)]


def codes(source: str) -> list[str]:
    return [finding.code for finding in lint(source)]


class TestUseAfterDonation:
    SOURCE = "step = jax.jit(update, donate_argnums=0)\n"

    def test_further_down(self) -> None:
        (finding,) = lint(self.SOURCE + "new = step(state)\nprint(state.params)")
        assert (finding.code, finding.severity) == ("SL402", Severity.ERROR)
        assert finding.message == (
            "`state` is donated to `step` in line 7, and `state.params` is read here:"
            " that raises `Array has been deleted`"
        )
        assert (finding.location.line, finding.location.column, finding.location.end_column) == (8, 7, 19)
        assert [related.location.line for related in finding.related] == [7]
        assert finding.fix is not None

    def test_next_turn(self) -> None:
        (finding,) = lint(self.SOURCE + "for batch in batches:\n    new = step(state, batch)")
        assert "before the next turn of the loop reads it" in finding.message

    def test_columns_count_characters(self) -> None:
        (finding,) = lint(self.SOURCE + "new = step(state)\nprint('é', state)")
        assert finding.location.column == 12

    @pytest.mark.parametrize(
        "look",
        [
            lambda x: (x.shape, x.dtype, x.ndim, x.size, x.nbytes, x.weak_type, x.sharding, len(x)),
            lambda x: (jnp.shape(x), jnp.ndim(x), jnp.result_type(x), isinstance(x, jax.Array), x.is_deleted()),
            lambda x: (jnp.zeros_like(x), jnp.ones_like(x), jnp.full_like(x, 2.0)),
            lambda x: (jax.tree.structure(x), jax.tree.leaves(x), jax.typeof(x)),
            lambda x: (jax.eval_shape(jnp.sin, x), jax.make_jaxpr(jnp.sin)(x), jax.jit(jnp.sin).lower(x)),
        ],
    )
    def test_what_may_be_asked_of_a_deleted_array(self, look: Any) -> None:
        x = jnp.ones(3)
        jax.jit(lambda v: v + 1, donate_argnums=0)(x)
        look(x)

    @pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")
    def test_what_no_output_can_take_over_is_not_deleted(self) -> None:
        x = jnp.ones(3)
        jax.jit(jnp.sum, donate_argnums=0)(x)
        assert not x.is_deleted()

    @pytest.mark.parametrize("read", [lambda x: x + 1, str, np.asarray, list, jnp.copy, jax.block_until_ready])
    def test_what_may_not(self, read: Any) -> None:
        x = jnp.ones(3)
        jax.jit(lambda v: v + 1, donate_argnums=0)(x)
        with pytest.raises(RuntimeError, match="deleted"):
            read(x)

    @pytest.mark.parametrize(
        ("option", "deleted"),
        [
            ({"donate": "all"}, [True, True]),
            ({"donate": "warn"}, [True, True]),
            ({"donate": "all-except-first"}, [False, True]),
            ({"donate": "warn-except-first"}, [False, True]),
            ({"donate": "none"}, [False, False]),
        ],
    )
    def test_what_equinox_donates(self, option: Any, deleted: list[bool]) -> None:
        x, y = jnp.ones(3), jnp.ones(3)
        eqx.filter_jit(lambda v, w: (v + 1, w + 1), **option)(x, y)
        assert [x.is_deleted(), y.is_deleted()] == deleted

    @pytest.mark.parametrize("option", [{"donate_argnums": 0}, {"donate_argnames": "v"}])
    @pytest.mark.parametrize("named", [False, True])
    def test_numbers_and_names_are_one(self, option: Any, named: bool) -> None:
        def shift(v: Any) -> Any:
            return v + 1

        x = jnp.ones(3)
        jitted = jax.jit(shift, **option)
        _ = jitted(v=x) if named else jitted(x)
        assert x.is_deleted()


class TestStateNotDonated:
    STEP = "def train_step(state, batch):\n    return state.replace(step=state.step + 1), batch\n"

    def test_advice(self) -> None:
        (finding,) = [each for each in lint(f"@jax.jit\n{self.STEP}") if each.code == "SL403"]
        assert (finding.severity, finding.field, finding.location.line) == (Severity.INFO, "state", 7)
        assert not rules.load()["SL403"].rule.default

    @pytest.mark.parametrize(
        "source",
        [
            f"@functools.partial(jax.jit, donate_argnums=0)\n{STEP}",
            f"@jax.jit(donate_argnames='state')\n{STEP}",
            f"@functools.partial(jax.jit, donate_argnums=numbers)\n{STEP}",
            STEP,
            "@jax.jit\ndef loss(state, batch):\n    return batch.sum()",
            f"def test_it():\n    @jax.jit\n{textwrap.indent(STEP, '    ')}",
            "@jax.jit\ndef evaluate(state):\n    return state",
        ],
    )
    def test_nothing_to_say(self, source: str) -> None:
        assert "SL403" not in codes(source)


def add(x: Any, k: int = 1) -> Any:
    return x + k


def total(x: Any) -> Any:
    return x.sum()


class Mover:
    def move(self, x: Any) -> Any:
        return x + 1


MOVER = Mover()
X = np.ones(3, np.float32)

KNOWN = {
    "f": lambda: jax.jit(add),
    "filter_jit f": lambda: eqx.filter_jit(add),
    "filter_jit method": lambda: eqx.filter_jit(MOVER.move),
    "filter_jit filter_grad": lambda: eqx.filter_jit(eqx.filter_grad(total)),
    "filter_jit Partial": lambda: eqx.filter_jit(jax.tree_util.Partial(add, k=2)),
}

ANEW = {
    "lambda": lambda: jax.jit(lambda v: v + 1),
    "partial": lambda: jax.jit(functools.partial(add, k=2)),
    "Partial": lambda: jax.jit(jax.tree_util.Partial(add, k=2)),
    "grad": lambda: jax.jit(jax.grad(total)),
    "vmap": lambda: jax.jit(jax.vmap(add)),
    "checkpoint": lambda: jax.jit(jax.checkpoint(add)),
    "jit": lambda: jax.jit(jax.jit(add)),
    "method": lambda: jax.jit(MOVER.move),
    "filter_jit lambda": lambda: eqx.filter_jit(lambda v: v + 1),
    "filter_jit partial": lambda: eqx.filter_jit(functools.partial(add, k=2)),
    "filter_jit grad": lambda: eqx.filter_jit(jax.grad(total)),
    "nnx.jit f": lambda: nnx.jit(add),
    "scan": lambda: lambda v: jax.lax.scan(lambda c, _: (c + 1, None), v, None, length=2),
    "while_loop": lambda: lambda v: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: c + 1, v),
    "fori_loop": lambda: lambda v: jax.lax.fori_loop(0, 3, lambda _, c: c + 1, v),
    "cond": lambda: lambda v: jax.lax.cond(True, lambda c: c + 1, lambda c: c - 1, v),
}


class TestJitPerCall:
    @pytest.mark.parametrize("make", KNOWN.values(), ids=KNOWN)
    def test_what_jit_knows_again(self, make: Any) -> None:
        assert measure_call(lambda: [make()(X) for _ in range(4)]) == (1, None)

    @pytest.mark.parametrize("make", ANEW.values(), ids=ANEW)
    def test_what_it_does_not(self, make: Any) -> None:
        few, many = (measure_call(lambda calls=calls: [make()(X) for _ in range(calls)]) for calls in (2, 6))
        assert (many[0] - few[0], many[1]) == (4, None)

    @pytest.mark.skipif(jax.__version_info__ < (0, 10), reason="jax 0.5 knows no bound method again")
    def test_pmap(self) -> None:
        x = X[None]
        known, _ = measure_call(lambda: [jax.pmap(MOVER.move)(x) for _ in range(4)])
        anew, _ = measure_call(lambda: [jax.pmap(lambda v: v + 1)(x) for _ in range(4)])
        assert anew - known == 3

    def test_loop(self) -> None:
        (finding,) = lint("for x in xs:\n    y = jax.jit(lambda v: v + 1)(x)")
        assert finding.message == (
            "`lambda v: v + 1` is a new lambda each time that `jax.jit` does not know:"
            " it compiles at each turn of the loop"
        )
        assert (finding.code, finding.severity) == ("SL501", Severity.ERROR)

    def test_function_that_may_be_called_again_is_a_warning(self) -> None:
        (finding,) = lint("def solve(x):\n    return jax.jit(lambda v: v + 1)(x)")
        assert finding.severity is Severity.WARNING
        assert "again if `solve` is called again" in finding.message

    def test_nnx(self) -> None:
        (finding,) = lint("def f(x): return x\nfor x in xs:\n    nnx.jit(f)(x)")
        assert "`nnx.jit` makes a new function of `f` each time" in finding.message

    def test_eager_loop(self) -> None:
        (finding,) = lint("for x in xs:\n    lax.fori_loop(0, 3, lambda i, c: c, x)")
        assert "runs outside a jit" in finding.message


class TestStaticArguments:
    SOURCE = "@functools.partial(jax.jit, static_argnames='k')\ndef f(x, k):\n    return x\n"

    def test_varying(self) -> None:
        (finding,) = lint(self.SOURCE + "for i in range(100):\n    f(x, i)")
        assert (finding.code, finding.field) == ("SL502", "k")
        assert finding.message == (
            "`k` is static in `f`, and `i` is another number at each turn of the loop: each value compiles"
        )

    def test_unhashable_is_said_once(self) -> None:
        (finding,) = lint(self.SOURCE + "for i in range(100):\n    f(x, [i])")
        assert finding.code == "SL503"

    @pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, np.ones(2), jnp.ones(2)])
    def test_values_without_a_hash(self, value: Any) -> None:
        with pytest.raises(ValueError, match="Non-hashable static arguments"):
            jax.jit(lambda x, k: x, static_argnums=1)(1.0, value)

    def test_a_dataclass_that_is_not_frozen_has_no_hash(self) -> None:
        @dataclasses.dataclass
        class Options:
            scale: float = 1.0

        with pytest.raises(ValueError, match="Non-hashable static arguments"):
            jax.jit(lambda x, k: x, static_argnums=1)(1.0, Options())

    @pytest.mark.parametrize(
        ("decorator", "expected"),
        [
            ("dataclasses.dataclass", ["SL503"]),
            ("dataclasses.dataclass(order=True)", ["SL503"]),
            ("dataclasses.dataclass(frozen=True)", []),
            ("dataclasses.dataclass(eq=False)", []),
            ("chosen", []),
        ],
    )
    def test_dataclasses(self, decorator: str, expected: list[str]) -> None:
        source = f"import dataclasses\n@{decorator}\nclass Options:\n    scale: float = 1.0\n"
        assert codes(source + self.SOURCE + "f(x, Options())") == expected


class TestStaticSelf:
    SOURCE = """
        class Trainer:
            def __init__(self, rate):
                self.rate = rate
            @functools.partial(jax.jit, static_argnums=0)
            def step(self, x):
                return x - self.rate * x
            def decay(self):
                self.rate *= 0.5
    """

    def test_message(self) -> None:
        (finding,) = lint(self.SOURCE)
        assert (finding.code, finding.severity, finding.field) == ("SL504", Severity.ERROR, "rate")
        assert "reads `self.rate`, which `decay` changes" in finding.message
        assert [related.location.line for related in finding.related] == [14, 12]
