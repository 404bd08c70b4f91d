"""Steps of other libraries: what the probe predicts is what JAX does."""

from __future__ import annotations

import jax
import pytest

import statelint
from tests.census.steps import STEPS
from tests.reality import measure


@pytest.mark.parametrize("name", STEPS)
def test_predicted_is_measured(name):
    step, state, args, options = STEPS[name]()
    seen = statelint.trace(step, state, *args, **options)
    step, state, args, options = STEPS[name]()
    if "donate" in options:
        step = jax.jit(step, donate_argnums=options.pop("donate"))
    real = measure(step, state, args, **options, calls=3)
    raises = any(leaf.clashes for leaf in seen.leaves)
    assert raises == (real.donation_error is not None)
    assert real.error is None or raises
    assert (seen.executables.loop, seen.executables.restore) == (real.loop, real.restore)


def test_there_are_more_than_forty():
    assert len(STEPS) > 40
