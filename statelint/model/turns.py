"""What the source says of states on their way: through a step, into a traced function, back from a checkpoint."""

from __future__ import annotations

from typing import Literal

import msgspec

from statelint.diagnostics import Edit, Location
from statelint.model.paths import label
from statelint.model.source import Expression, StateField


class Change(msgspec.Struct, frozen=True):
    """A place of a state that a step gives back otherwise than it was given it.

    Attributes:
        aspect: what differs: the treedef, the family of the dtype, a static field, the kind of a PRNG key.
        before: in the words of a message; None where there was nothing.
        after: None where nothing is left.
        made: where it is made first.
        field: of the class, where it is a static one; a Python number that the jit holds static has none.
        literal: the whole float that is added to an int (`1.0`), where the int of its value would keep the dtype.
        mended: the expression with that int in its place.
        start: the Python number that it is before.
        weak: it is weakly typed before: a loop of `jax.lax` promotes it to what comes out.
    """

    path: str
    at: Location
    aspect: Literal["structure", "dtype", "static", "key kind"]
    before: str | None
    after: str | None
    made: Location | None = None
    literal: Expression | None = None
    mended: str = ""
    start: Expression | None = None
    weak: bool = False
    field: StateField | None = None

    @property
    def label(self) -> str:
        """The path as messages write it."""
        return label(self.path)


class KeyUse(msgspec.Struct, frozen=True):
    """A PRNG key that a step uses and that is the same at the next.

    Attributes:
        path: of the key in the state, given back unchanged; None for one that the step makes of a constant.
        at: where it is given back, or used where nothing says that it is.
        used: where it is used.
        split: edits that split it there and give back the new one; none where that is not plain.
    """

    path: str | None
    at: Location
    used: Location
    split: tuple[Edit, ...] = ()


class Turn(msgspec.Struct, frozen=True):
    """One turn of a step, from the state that goes in to the one that comes out.

    Attributes:
        loop: of `jax.lax`, whose body the step is.
    """

    step: str
    at: Location
    loop: str | None = None
    changes: tuple[Change, ...] = ()
    keys: tuple[KeyUse, ...] = ()

    def cost(self, *, weak: bool = False) -> str:
        """What becomes of a change, in words; ``weak``: a loop of `jax.lax` would put up with it."""
        if self.loop is not None:
            return f"{self.loop} refuses it"
        return "one more executable in a loop" + ("" if weak else ", and lax.scan refuses it")


class UnregisteredState(msgspec.Struct, frozen=True):
    """A plain dataclass that goes into a traced function.

    Attributes:
        taker: what takes it, as written.
        declared: where the class is defined.
    """

    name: str
    at: Location
    taker: str
    declared: Location


class Restore(msgspec.Struct, frozen=True):
    """A checkpoint that is read back with nothing to say what its containers were."""

    call: str
    at: Location
    target: str
