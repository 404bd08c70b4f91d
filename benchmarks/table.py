"""One measured comparison, and the table of all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

HEAD = ("work", "against", "peer", "statelint", "ratio", "at most", "reached")

Profile = Callable[[Path], Iterable[tuple[str, float]]]


@dataclasses.dataclass(frozen=True)
class Row:
    """What a peer takes for some work, and what statelint takes.

    Attributes:
        at_most: how many times the peer's figure statelint's may be.
        unit: seconds, or bytes.
        profile: what statelint's figure is made of, each with its share; the folder is for what that needs.
    """

    work: str
    against: str
    theirs: float
    ours: float
    at_most: float
    unit: str = "s"
    profile: Profile | None = None

    @property
    def ratio(self) -> float:
        """Statelint's figure by the peer's."""
        return self.ours / self.theirs

    @property
    def is_reached(self) -> bool:
        """Whether it is within what is asked."""
        return self.ratio <= self.at_most

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        figures = (_figure(self.theirs, self.unit), _figure(self.ours, self.unit), f"{self.ratio:.3g}")
        return (self.work, self.against, *figures, f"{self.at_most:.3g}", "yes" if self.is_reached else "**no**")


def _figure(value: float, unit: str) -> str:
    return f"{value:.2f} s" if unit == "s" else f"{value / 1e6:.0f} MB"


def line(cells: Iterable[str]) -> str:
    """One line of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


def lines(head: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table in Markdown."""
    yield from map(line, (head, ["---"] * len(head), *rows))
