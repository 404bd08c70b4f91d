"""The compiled program of a call: how XLA lays out what goes in and comes out, and which donated bytes it reuses.

Compiling allocates none of the state, but takes what time it takes; it is done only where it is asked for.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from statelint.probe import leaves


class Program(NamedTuple):
    """What is asked of a compiled program; some backends say nothing.

    Attributes:
        inputs: the sharding of each input; None for one that is dropped.
        outputs: the sharding of each output.
        aliased: the bytes on one device that an input and an output share.
    """

    inputs: Sequence[Any] | None
    outputs: Sequence[Any] | None
    aliased: int | None

    def on_one_device(self, number: int, aval: jax.ShapeDtypeStruct) -> int:
        """The bytes of an input on one of its devices."""
        sharding = self.inputs[number] if self.inputs else None
        if not isinstance(sharding, jax.sharding.Sharding):
            return leaves.nbytes(aval)
        return leaves.nbytes(jax.ShapeDtypeStruct(sharding.shard_shape(aval.shape), aval.dtype))


def program(
    function: Callable[..., Any], inputs: Sequence[Any], donated: Sequence[int], *, keep_unused: bool = False
) -> Program:
    """Compile a function of flat inputs.

    Raises:
        Exception: whatever XLA refuses.
    """
    with warnings.catch_warnings(action="ignore"):
        # Of donated buffers that are not usable the ledger speaks.
        jitted = jax.jit(function, donate_argnums=tuple(donated), keep_unused=keep_unused)
        compiled = jitted.trace(*inputs).lower().compile()
    taken = _said(lambda: compiled.input_shardings)
    given = _said(lambda: compiled.output_shardings)
    memory = _said(compiled.memory_analysis)
    return Program(
        inputs=None if taken is None else list(taken[0]),
        outputs=None if given is None else list(given),
        aliased=getattr(memory, "alias_size_in_bytes", None),
    )


def _said(ask: Callable[[], Any]) -> Any:
    """What a backend answers, None when it has no answer."""
    try:
        return ask()
    except Exception:
        return None
