"""Shape, dtype, weak type and place of a leaf, and how they change."""

from __future__ import annotations

import re
from typing import Literal

import msgspec


class Aval(msgspec.Struct, frozen=True):
    """Shape, dtype and weak type of a leaf, as jit sees it."""

    dtype: str
    shape: tuple[int, ...]
    weak: bool = False

    def __str__(self) -> str:
        """JAX's own notation: `float32[16,8]`."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @property
    def family(self) -> str:
        """The dtype without its width: `float`, `int`, `uint`, `bool`, `complex`, `key`."""
        return re.sub(r"^b(?=float)|[\d<_].*", "", self.dtype)

    @property
    def described(self) -> str:
        """The notation with its weak type in words: `weak float32[]`."""
        return f"weak {self}" if self.weak else str(self)


Cause = Literal["weak type", "dtype", "shape", "key kind"]
"""Why a leaf drifts, from the cheapest to the dearest."""


class Change(msgspec.Struct, frozen=True):
    """A leaf that came out of a call other than it went in. Calls count from 1."""

    call: int
    before: Aval
    after: Aval

    @property
    def cause(self) -> Cause:
        """A weak value that takes the width of what it meets (weak float32 to float16) changed for its weak type."""
        if (self.before.family == "key") != (self.after.family == "key"):
            return "key kind"
        if self.before.shape != self.after.shape:
            return "shape"
        is_of_weakness = self.before.weak != self.after.weak and self.before.family == self.after.family
        return "dtype" if self.before.dtype != self.after.dtype and not is_of_weakness else "weak type"

    def __str__(self) -> str:
        """`goes into call 1 as float32[] and comes out as weak float32[]`."""
        return f"goes into call {self.call} as {self.before.described} and comes out as {self.after.described}"


class Move(msgspec.Struct, frozen=True):
    """A leaf that came out of a call at another place than it went in, in words: `uncommitted`, `committed to ...`."""

    call: int
    before: str
    after: str
