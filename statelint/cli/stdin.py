"""A buffer on standard input, which is linted as if it stood in a file: so editors ask about what is not saved yet."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from statelint import discovery
from statelint.options import UsageError

DASH = "-"
"""The path that stands for standard input."""


def option(paths: Sequence[str], filename: str | None) -> str | None:
    """What asks for standard input; None when nothing does."""
    if filename is not None:
        if any(path != DASH for path in paths):
            raise click.UsageError("--stdin-filename does not go with PATHS")
        return "--stdin-filename"
    if DASH in paths and len(paths) > 1:
        raise click.UsageError(f"{DASH} does not go with other PATHS")
    return DASH if DASH in paths else None


def take(filename: str | None) -> tuple[str, bytes]:
    """The buffer, by the path that it is linted under.

    Raises:
        UsageError: it cannot be read, or no file of that name would be linted.
    """
    path = DASH if filename is None else discovery.tidy(filename)
    if os.path.isdir(path):
        raise UsageError([f"--stdin-filename: {path}: is a folder"])
    if discovery.is_notebook(path):
        raise UsageError([f"--stdin-filename: {path}: notebooks are not checked"])
    try:
        return path, sys.stdin.buffer.read()
    except OSError as error:
        raise UsageError([f"standard input cannot be read: {error.strerror}"]) from None
    except AttributeError:  # Python has none when it was closed before we began
        raise UsageError(["standard input cannot be read: it is closed"]) from None
