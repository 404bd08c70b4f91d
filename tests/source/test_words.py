"""The screen over bytes: what is read, and what is passed by."""

from __future__ import annotations

import pytest

from statelint.source.words import matters


@pytest.mark.parametrize(
    "line",
    [
        "import jax",
        "state = TrainState(0)",
        "state = State(0)",
        "state = states.TrainState.create(step=0)",
        "state = _TrainState(0)",
        "class Runner(Base): state = TrainState(0)",
    ],
)
def test_what_may_build_a_state_is_read(line: str) -> None:
    assert matters(f"import states\n{line}\n".encode())


@pytest.mark.parametrize(
    "line",
    [
        "class TrainState(Base): ...",
        "def TestState(): ...",
        "def test_getState(): ...",
        "self.setState(0)",
        "State = 1",
    ],
)
def test_what_only_sounds_like_it_is_passed_by(line: str) -> None:
    assert not matters(f"import states\n{line}\n".encode())
