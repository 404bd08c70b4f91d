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

Where = int | str | Sequence[int | str] | None
"""Where something stands in a result: an index, a key or attribute name, or a sequence of these."""


@dataclasses.dataclass(frozen=True, eq=False)
class Probe:
    """A step, the state it carries and its other arguments.

    Nothing runs when a probe is made. Arguments and states are given as themselves, or in JAX's own notation:
    ``"f32[16,8]"``, ``"i32[]"``, ``"key<fry>[]"``, nested in tuples, lists and dicts.

    Attributes:
        step: a function, plain, jitted or partial, that takes the state and gives back the next one, or, under
            flax.nnx, changes it.
        state: the state, or a factory of it, which is traced abstractly and allocates nothing.
        args: the step's other arguments, in their order.
        state_args: the factory's arguments.
        state_argnum: which positional argument of the step the state is; 1 for optax's ``update``. Several for a
            state that is a tuple of arguments: ``(0, 1)`` of ``step(params, opt_state, batch)``.
        state_returns: where the state stands in the factory's result; all of it when left out.
        returns: where the state stands in the step's result; found by its treedef when left out. With several
            ``state_argnum``, one for each.
        donate: which arguments a plain step will be jitted to donate, by position or name.
        static_argnames: which arguments a plain step will be jitted to hold static.
        x64: trace with 64-bit types enabled.
        mesh: how many CPU devices the probe needs, or the sizes of its mesh's axes.
        env: environment variables to set before jax is imported.
        name: what reports call it; the variable it is assigned to, or else the step's name, when left out.
    """

    step: Callable[..., Any]
    state: Any
    args: Sequence[Any] = ()
    _: dataclasses.KW_ONLY
    state_args: Sequence[Any] = ()
    state_argnum: int | Sequence[int] = 0
    state_returns: Where = None
    returns: Where = None
    donate: int | str | Sequence[int | str] | None = None
    static_argnames: str | Sequence[str] | None = None
    x64: bool = False
    mesh: int | Mapping[str, int] | None = None
    env: Mapping[str, str] | None = None
    name: str | None = None
    site: tuple[str, int] = dataclasses.field(init=False, repr=False, default=("", 0))

    def __post_init__(self) -> None:
        """Remember the line that declares it."""
        object.__setattr__(self, "site", caller())
        declared.append(self)

    @classmethod
    def optimizer(cls, tx: Any, *, params: Any, loss: Callable[[Any], Any] | None = None, **options: Any) -> Probe:
        """A probe of an optax transform alone: its ``update``, with the state that its ``init`` makes of the params.

        Args:
            tx: a ``GradientTransformation``, with extra arguments or without.
            params: the params, or JAX's notation of them; gradients and updates are of their form.
            loss: of params, for a transform that asks for its value or for the function (line searches, polyak):
                the sum of their squares when left out.
            options: other arguments of `Probe`.
        """
        defaults = {"args": (params, params), "state_args": (params,), "state_argnum": 1, "returns": 1}
        return cls(OptimizerStep(tx, loss), tx.init, **{**defaults, **options})

    @classmethod
    def environment(cls, env: Any, args: Sequence[Any] = (), **options: Any) -> Probe:
        """A probe of an environment, sampler or solver: its ``step``, with the state that its ``reset`` or ``init``
        makes.

        Args:
            env: an object with these methods.
            args: the other arguments of ``step``.
            options: other arguments of `Probe`, such as ``state_args`` for those of ``reset``.
        """
        reset = getattr(env, "reset", None) or env.init
        return cls(env.step, reset, args, **options)


class OptimizerStep:
    """A transform's ``update``, given those of optax's usual extra arguments that it takes."""

    def __init__(self, tx: Any, loss: Callable[[Any], Any] | None) -> None:
        self.__wrapped__ = tx.update
        self.update = tx.update
        self.loss = loss or _sum_of_squares

    def __call__(self, gradient: Any, state: Any, params: Any) -> Any:
        """The updates and the next state."""
        import inspect

        parameters = inspect.signature(self.update).parameters
        takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
        extra = {"value": self.loss(params), "grad": gradient, "value_fn": self.loss}
        taken = {name: value for name, value in extra.items() if takes_all or name in parameters}
        return self.update(gradient, state, params, **taken)


def _sum_of_squares(params: Any) -> Any:
    import jax

    return sum((leaf * leaf).sum() for leaf in jax.tree_util.tree_leaves(params))


def caller() -> tuple[str, int]:
    """The file and line outside statelint that called into it."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "statelint":
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno
