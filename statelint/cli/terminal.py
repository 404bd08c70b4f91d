"""What goes to the terminal, to a pipe or to a file."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import TextIO

from statelint import files
from statelint.options import UsageError
from statelint.report.base import escaped


def prepare_streams() -> None:
    """Make sure that there is something to write to, and that it takes every character."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed before we began
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(line: str) -> None:
    """A line beside the report. Where nobody takes it, it is lost: the exit code has the last word."""
    try:
        print(escaped(line), file=sys.stderr, flush=True)
    except OSError:
        close(sys.stderr)


def put(text: str, *, beside: bool = False) -> None:
    """The report, or what stands for it; ``beside`` what standard output is needed for."""
    stream = sys.stderr if beside else sys.stdout
    with _flushed(stream, "the report"):
        stream.write(text)


def put_bytes(data: bytes) -> None:
    """The content of a file, as it is."""
    with _flushed(sys.stdout, "the fixed buffer"):
        sys.stdout.buffer.write(data)


@contextlib.contextmanager
def _flushed(stream: TextIO, what: str) -> Iterator[None]:
    try:
        yield
        stream.flush()
    except BrokenPipeError:
        close(stream)
    except OSError as error:
        raise UsageError([f"{what} cannot be written: {error.strerror}"]) from None


def close(stream: TextIO) -> None:
    """Flush; when nobody takes it, let what is left go nowhere, also at the interpreter's end."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def colours(choice: str, *, to_file: bool) -> bool:
    """Whether to paint, by `--color`, the environment and where the output goes."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return not to_file and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def write(file: str, text: str) -> None:
    """The report, to the file that `--output-file` names."""
    try:
        files.write(file, text.encode("utf-8", errors="backslashreplace"))
    except BrokenPipeError:
        pass  # whoever reads it has read enough
    except OSError as error:
        raise UsageError([f"--output-file: {file}: cannot be written: {error.strerror}"]) from None
