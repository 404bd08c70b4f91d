from __future__ import annotations

from pathlib import Path

import pytest

from statelint import linter
from statelint.config import Config
from statelint.model.wording import brief, listed
from statelint.options import Options


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (list("abcde"), "a, b, c, d and e"),
        (list("abcdef"), "a, b, c, d and 2 more"),
        (["a"] * 10_000, "a, a, a, a and 9,996 more"),
    ],
)
def test_listed(names: list[str], text: str) -> None:
    assert listed(names) == text


def test_brief() -> None:
    assert brief("x" * 120) == "x" * 120
    assert brief("x" * 121) == "x" * 119 + "…"


@pytest.mark.parametrize("probe", [False, True])
def test_what_rules_say_is_short_whatever_it_is_about(
    probe: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    shared = ", ".join(f"'k{number}': zeros" for number in range(300))
    long = f"'rate': 0.{'1' * 4000}, 'tau': jnp.asarray(0.{'1' * 4000}), 'w': jnp.ones(3)"
    note = f"TrainState(note='{'x' * 4000}', w=jnp.ones(3))"
    Path("states.py").write_text(
        "import jax.numpy as jnp\nfrom typing import NamedTuple\nfrom statelint import Probe\n"
        f"def init_state():\n    zeros = jnp.zeros(3)\n    return {{{shared}}}\n"
        f"def create_state():\n    return {{{long}}}\n"
        f"class TrainState(NamedTuple):\n    note: object\n    w: object\ndef noted_state():\n    return {note}\n"
        "def raises(state):\n    raise ValueError('x' * 10_000)\n"
        "one = Probe(step=lambda state: state, state=init_state)\n"
        "two = Probe(step=raises, state=init_state)\n"
    )
    found = linter.run((), Config(root=str(tmp_path)), Options(probe=probe)).diagnostics
    codes = {finding.code for finding in found}
    assert codes >= {"SL102", "SL103", "SL105", "SL401"} | ({"SL902"} if probe else set())
    assert max(len(finding.message) for finding in found) < 400
    assert max(len(finding.fix.message) for finding in found if finding.fix) < 400
