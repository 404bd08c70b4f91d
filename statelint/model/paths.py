"""Paths of leaves, as a user would write them: `opt_state[0].mu['w']`, below the state."""

from __future__ import annotations

import re
from collections.abc import Sequence


def label(path: str) -> str:
    """The path with the state's name before it: `state.opt_state[0].mu`, `state['w']`."""
    return f"state{path}" if path.startswith("[") or not path else f"state.{path}"


def common_parents(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths without the last steps that they have in common: `mu['w']` and `nu['w']` as `mu` and `nu`."""
    split = [re.findall(r"\[.*?\](?=[.\[]|$)|\.?[^.\[]+", path) for path in paths]
    while all(len(steps) > 1 for steps in split) and len({steps[-1] for steps in split}) == 1:
        split = [steps[:-1] for steps in split]
    return tuple("".join(steps) for steps in split)
