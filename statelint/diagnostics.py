"""The one currency: what a rule says, where, and how to write it instead."""

from __future__ import annotations

import enum
from typing import Literal

import msgspec


class Severity(enum.Enum):
    """How dear a finding is.

    ``ERROR``: it fails, is wrong, or compiles every step. ``WARNING``: it costs an executable at some known
    moment. ``INFO``: advice.
    """

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Position on the scale: 0 (info) to 2 (error)."""
        return tuple(Severity).index(self)


Detector = Literal["source", "probe", "both"]


class Location(msgspec.Struct, frozen=True, order=True):
    """A range of one file. Lines and columns count from 1; columns count characters; the end is exclusive."""

    path: str
    line: int
    column: int = 1
    end_line: int | None = None
    end_column: int | None = None


class Related(msgspec.Struct, frozen=True):
    """Another place that a reader needs to see."""

    location: Location
    message: str


class Fix(msgspec.Struct, frozen=True):
    """How to write it instead. ``safe``: the program's results do not change."""

    safe: bool
    message: str


class Diagnostic(msgspec.Struct, frozen=True):
    """One finding.

    Attributes:
        field: the leaf or static field by its path in the state, as the user would write it, without the
            state's own name (``opt_state[0].mu['w']``).
        probe: the name of the probe whose trace showed it; None for a finding of the source alone.
    """

    code: str
    name: str
    severity: Severity
    message: str
    location: Location
    detector: Detector = "source"
    field: str | None = None
    probe: str | None = None
    fix: Fix | None = None
    related: tuple[Related, ...] = ()

    @property
    def sort_key(self) -> tuple[Location, str, str]:
        """By place, then by code: the order in which findings are shown."""
        return (self.location, self.code, self.message)
