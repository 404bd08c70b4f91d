"""The decoder traced by hand: `python -m benchmarks.by_hand scanned`.

`jax.eval_shape` of the init and of the step, once each, which is the least that anyone pays who asks what the step
gives back.
"""

from __future__ import annotations

import sys

import jax

from benchmarks.decoder import TOKENS_SHAPE, program


def trace(form: str) -> None:
    """Trace the init and the step once each."""
    init, step = program(form)
    jax.eval_shape(step, jax.eval_shape(init), jax.ShapeDtypeStruct(TOKENS_SHAPE, "int32"))


if __name__ == "__main__":
    trace(sys.argv[1])
