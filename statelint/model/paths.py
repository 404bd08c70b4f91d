"""Paths of leaves, as a user would write them: `opt_state[0].mu['w']`, below the state."""

from __future__ import annotations

import re
from collections.abc import Sequence


def label(path: str) -> str:
    """The path with the state's name before it: `state.opt_state[0].mu`, `state['w']`."""
    return f"state{path}" if path.startswith("[") or not path else f"state.{path}"


def steps(path: str) -> list[str]:
    """The steps of a path, each as it is written: `opt_state`, `[0]`, `.mu`, `['w']`."""
    return re.findall(r"\[.*?\](?=[.\[]|$)|\.?[^.\[]+", path)


def last_name(path: str) -> str:
    """The last name on a path; empty where there is none but positions."""
    return next(reversed(names(path)), "")


def names(path: str) -> list[str]:
    """The names on a path: `opt_state`, `mu`, `w`."""
    return re.findall(r"[^\W\d]\w*", path)


def common_parents(paths: Sequence[str]) -> tuple[str, ...]:
    """The paths without the last steps that they have in common: `mu['w']` and `nu['w']` as `mu` and `nu`."""
    split = [steps(path) for path in paths]
    while all(len(walked) > 1 for walked in split) and len({walked[-1] for walked in split}) == 1:
        split = [walked[:-1] for walked in split]
    return tuple("".join(walked) for walked in split)
