"""What `statelint check` writes into files when it is asked to, and what it says of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from statelint import changes
from statelint.changes import Changes
from statelint.cli.common import CLEAN, FOUND
from statelint.cli.terminal import put, put_bytes, say
from statelint.config import Config
from statelint.options import Options
from statelint.report import Fixed, Report


def show(made: Changes, *, exit_zero: bool) -> int:
    """The diff, and beside it what it is."""
    put("".join(line for change in made.files for line in change.diff()))
    _say_refused(made, "cannot be fixed")
    if made.files:
        say(f"Would fix {_extent(made)}")
    return FOUND if made.files and not exit_zero else CLEAN


def make(made: Changes, options: Options) -> tuple[Fixed, Options]:
    """Files are written, a buffer is printed; it is the fixed one that is reported on."""
    if options.buffer is None:
        made.write()
    else:
        path, data = options.buffer
        data = next((change.after for change in made.files), data)
        put_bytes(data)
        options = msgspec.structs.replace(options, buffer=(path, data))
    _say_refused(made, "cannot be fixed")
    return _extent(made), options


def silence(paths: Sequence[str], settings: Config, report: Report, *, exit_zero: bool) -> int:
    """Comments are written that silence what was found."""
    made = changes.ignore(paths, settings, report)
    made.write()
    _say_refused(made, "cannot be ignored")
    put(f"Ignored {_extent(made)}\n")
    return FOUND if made.refused and not exit_zero else CLEAN


def _extent(made: Changes) -> Fixed:
    return Fixed(len(made.settled), len(made.files), made.uncovered)


def _say_refused(made: Changes, what: str) -> None:
    for finding, reason in made.refused:
        at = finding.location
        say(f"statelint: warning: {at.path}:{at.line}:{at.column}: {finding.code} {what}: {reason}")
