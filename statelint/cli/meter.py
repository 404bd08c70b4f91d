"""What a run shows on a terminal while it lasts, when that is longer than a second."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from statelint.progress import SILENT, Progress
from statelint.report.base import counted, one_line

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner

PATIENCE = 1.0
"""Seconds that a run may take before it says what it is at."""


@contextmanager
def progress(*, quiet: bool) -> Iterator[Progress]:
    """A meter on standard error, where someone may look at it."""
    if quiet or not _is_watched():
        yield SILENT
        return
    meter = _Meter()
    timer = threading.Timer(PATIENCE, meter.show)
    timer.daemon = True
    timer.start()
    try:
        yield meter
    finally:
        timer.cancel()
        timer.join()
        meter.clear()


def _is_watched() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")


class _Meter:
    """How far the run is, told by the thread that runs and drawn by another."""

    def __init__(self) -> None:
        self._files = self._read = 0
        self._probe: str | None = None
        self._live: Live | None = None

    def found(self, files: int) -> None:
        self._files, self._read = files, 0

    def read(self, files: int = 1) -> None:
        self._read += files

    def tracing(self, probe: str | None) -> None:
        self._probe = probe

    def show(self) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        spinner = Spinner("dots")

        def drawn() -> Spinner:
            spinner.update(text=Text(self._text(), no_wrap=True, overflow="ellipsis"))
            return spinner

        self._live = Live(
            get_renderable=drawn,
            console=Console(stderr=True),
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def clear(self) -> None:
        if self._live is not None:
            self._live.stop()

    def _text(self) -> str:
        if self._probe is not None:
            return f"tracing probe {one_line(self._probe)}"
        return f"{self._read} of {counted(self._files, 'file')} read" if self._files else "looking for files"
