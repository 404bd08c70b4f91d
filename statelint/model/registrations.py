"""What the source says of how JAX takes the values of a class apart and puts them together."""

from __future__ import annotations

from typing import Literal

import msgspec

from statelint.diagnostics import Location

Deed = Literal["converts", "checks", "overwrites", "does not take"]
"""What a constructor does with a leaf, in the words of a message."""


class Disturbance(msgspec.Struct, frozen=True):
    """What a constructor does with a leaf besides keeping it."""

    does: Deed
    leaf: str
    at: Location


class AuxArray(msgspec.Struct, frozen=True):
    """An attribute that holds an array and is flattened into aux data."""

    attribute: str
    at: Location


class Rebuilt(msgspec.Struct, frozen=True):
    """A child of a pytree class: the attribute that it is flattened from, and the one that unflatten puts it in."""

    flattened: str
    unflattened: str
    at: Location


class PytreeRegistration(msgspec.Struct, frozen=True):
    """How JAX takes values of a class apart and puts them together.

    Attributes:
        constructor: unflatten goes through this method of the class: `__init__` or `__post_init__`.
        disturbances: what it does there with leaves, which may be tracers, None or mere placeholders.
        children: those of which both ends are known.
    """

    name: str
    at: Location
    constructor: str = ""
    disturbances: tuple[Disturbance, ...] = ()
    aux_arrays: tuple[AuxArray, ...] = ()
    children: tuple[Rebuilt, ...] = ()
