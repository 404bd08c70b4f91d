"""`--verbose`: what the code of probes printed."""

from __future__ import annotations

import click

from statelint.cli.terminal import say

MOST = 200
"""Lines of one probe that are shown."""

verbose_option = click.option(
    "-v", "--verbose", is_flag=True, help="Show what the code of probes prints, on standard error."
)


def say_printed(probe: str, text: str) -> None:
    """The last lines of it, each with the probe's name before it."""
    lines = text.splitlines()
    if len(lines) > MOST:
        say(f"probe {probe}: ({len(lines) - MOST:,} lines are left out)")
    for line in lines[-MOST:]:
        say(f"probe {probe}: {line}")
