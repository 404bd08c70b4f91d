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


class Edit(msgspec.Struct, frozen=True):
    """A text to put in the place of another.

    Attributes:
        at: what it takes the place of; an empty range inserts.
        text: where a module is named in braces (`{jax.numpy}.zeros(3)`), the name by which the file calls it is
            put there, and imported where it is not yet. A newline becomes what ends the lines of the file.
    """

    at: Location
    text: str


class Fix(msgspec.Struct, frozen=True):
    """How to write it instead.

    Attributes:
        safe: the program's results do not change, and no aval does but for its weak type.
        edits: what `--fix` writes, all of it or nothing; without any, the fix is advice.
    """

    safe: bool
    message: str
    edits: tuple[Edit, ...] = ()


def replace(at: Location, text: str) -> tuple[Edit, ...]:
    """Put a text in the place of what stands there."""
    return (Edit(at, text),)


def wrap(at: Location, before: str, after: str) -> tuple[Edit, ...]:
    """Put a text before and one after what stands there, which is kept as it is."""
    return (*insert_before(at, before), *insert_after(at, after))


def insert_before(at: Location, text: str) -> tuple[Edit, ...]:
    """Put a text before what stands there."""
    return (Edit(Location(at.path, at.line, at.column, at.line, at.column), text),)


def insert_after(at: Location, text: str) -> tuple[Edit, ...]:
    """Put a text after what stands there."""
    line, column = at.end_line or at.line, at.end_column or at.column
    return (Edit(Location(at.path, line, column, line, column), text),)


class Diagnostic(msgspec.Struct, frozen=True):
    """One finding.

    Attributes:
        field: the leaf or static field by its path in the state, as the user would write it, without the
            state's own name (``opt_state[0].mu['w']``).
        probe: the name of the probe whose trace showed it; None for a finding of the source alone.
        parts: what the source alone says of the same leaf: a run without probes shows these in its place.
        printed: the last lines that the code of a failed probe printed.
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
    parts: tuple[Diagnostic, ...] = ()
    printed: tuple[str, ...] = ()

    def fails(self, least: str) -> bool:
        """Whether it fails a run that is failed by findings of this severity and those above."""
        return self.severity.rank >= Severity(least).rank

    @property
    def sort_key(self) -> tuple[Location, str, str]:
        """By place, then by code: the order in which findings are shown."""
        return (self.location, self.code, self.message)
