"""What a long run tells of its progress, to whoever shows it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Is told how far a run has come."""

    def found(self, files: int) -> None:
        """So many files are to be read."""

    def read(self, files: int = 1) -> None:
        """So many more of them have been."""

    def tracing(self, probe: str | None) -> None:
        """This probe is being traced; None: that is over."""


class Silent:
    """Tells nobody."""

    def found(self, files: int) -> None:
        """Nothing to do."""

    def read(self, files: int = 1) -> None:
        """Nothing to do."""

    def tracing(self, probe: str | None) -> None:
        """Nothing to do."""


SILENT = Silent()
