"""`Probe`: how a step and its state are declared.

Standard library only: a module that declares a probe pays nothing for it, and the worker loads this file
under the project's own interpreter, where statelint need not be installed.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

declared: list[Probe] = []
"""Every probe made in this process, in order; the worker finds those of a module here."""


@dataclasses.dataclass(frozen=True, eq=False)
class Probe:
    """A step, the state it carries and its other arguments.

    Nothing runs when a probe is made. Arguments and states are given as themselves, or in JAX's own notation:
    ``"f32[16,8]"``, ``"i32[]"``, ``"key<fry>[]"``, nested in tuples, lists and dicts.

    Attributes:
        step: a function, plain, jitted or partial, that takes the state and gives back the next one.
        state: the state, or a factory of it, which is traced abstractly and allocates nothing.
        args: the step's other arguments, in their order.
        state_args: the factory's arguments.
        state_argnum: which positional argument of the step the state is; 1 for optax's ``update``.
        returns: where the state stands in the step's result: an index, a key or attribute name, or a sequence of
            these. Left out, it is found by its treedef.
        x64: trace with 64-bit types enabled.
        env: environment variables to set before jax is imported.
        name: what reports call it; the variable it is assigned to, or else the step's name, when left out.
    """

    step: Callable[..., Any]
    state: Any
    args: Sequence[Any] = ()
    _: dataclasses.KW_ONLY
    state_args: Sequence[Any] = ()
    state_argnum: int = 0
    returns: int | str | Sequence[int | str] | None = None
    x64: bool = False
    env: Mapping[str, str] | None = None
    name: str | None = None
    site: tuple[str, int] = dataclasses.field(init=False, repr=False, default=("", 0))

    def __post_init__(self) -> None:
        """Remember the line that declares it."""
        object.__setattr__(self, "site", caller())
        declared.append(self)


def caller() -> tuple[str, int]:
    """The file and line outside statelint that called into it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "statelint":
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
