"""What goes to the terminal, to a pipe or to a file."""

from __future__ import annotations

import io
import os
import sys
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


def put(text: str) -> None:
    """The report, or what stands for it."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        close(sys.stdout)
    except OSError as error:
        raise UsageError([f"the report cannot be written: {error.strerror}"]) from None


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
