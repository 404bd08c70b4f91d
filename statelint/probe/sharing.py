"""Leaves that share a device buffer, with each other and with other arguments, and whether the step then raises."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import jax

from statelint.probe.build import Built, device_buffer
from statelint.probe.calls import Call, Stepper
from statelint.probe.donation import ledger


class Sharing:
    """Of one state, at the first call of its step.

    Args:
        call: None where there is none.
    """

    def __init__(self, built: Built, stepper: Stepper, call: Call | None) -> None:
        self.built = built
        self.stepper = stepper
        # What a step that nothing has jitted will donate and drop, nobody knows.
        self.call = call if stepper.is_jitted else None

    def facts(self, place: int, leaf: Any) -> dict[str, Any]:
        """What the model's `LeafTrace` asks for."""
        group = self.built.shares.get(place)
        buffer = device_buffer(leaf) if not isinstance(leaf, jax.core.Tracer) else None
        argument = self._arguments.get(buffer) if buffer is not None else None
        return {
            "shares": group,
            "shares_guessed": group is not None and self.built.guessed,
            "clashes": self._clashes(self._groups[group]) if group is not None else None,
            "shares_argument": argument and f"args{jax.tree_util.keystr(argument[1])}",
            "clashes_argument": self._clashes([self._inputs.get(place), argument[0]]) if argument else None,
        }

    def _clashes(self, inputs: Iterable[int | None]) -> bool | None:
        """Whether the step is given one buffer twice, and donates it; what jit drops it is not given."""
        if self.call is None or not self._donated:
            return None
        given = {number for number in inputs if number is not None and number in self.call.used}
        return len(given) > 1 and bool(given & self._donated)

    @property
    def _inputs(self) -> dict[int, int]:
        return self.call.inputs if self.call is not None else {}

    @functools.cached_property
    def _donated(self) -> set[int]:
        """The inputs that the step donates, of the state and of the other arguments."""
        if self.call is None:
            return set()
        donated = ledger(self.call.jaxpr.jaxpr, {})
        return {number for number, variable in enumerate(self.call.jaxpr.jaxpr.invars) if variable in donated}

    @functools.cached_property
    def _groups(self) -> dict[int, list[int | None]]:
        groups: dict[int, list[int | None]] = defaultdict(list)
        for place, number in self.built.shares.items():
            groups[number].append(self._inputs.get(place))
        return groups

    @functools.cached_property
    def _arguments(self) -> dict[Any, tuple[int | None, Any]]:
        """The other arguments by their buffers: the input that each is, and its path."""
        entries = jax.tree_util.tree_flatten_with_path(
            jax.tree_util.tree_unflatten(self.stepper.treedef, self.stepper.flat)
        )[0]
        inputs = {place: len(self._inputs) + number for number, place in enumerate(self.stepper.traced_arguments)}
        return {
            device_buffer(value): (inputs.get(place), path)
            for place, (path, value) in enumerate(entries)
            if isinstance(value, jax.Array)
        }
