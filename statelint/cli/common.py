"""What the commands have in common: their options, and their exit codes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import click

from statelint.options import UsageError

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: nothing found, something found, statelint could not do its work, Ctrl-C."""

EXAMPLES = """\b
Examples:
  statelint                        lint the current folder and run its probes
  statelint --no-probe train.py    read the source only; runs none of it
  statelint --select SL4,SL101 .   only some rules: codes, prefixes or names
  statelint --diff .               what --fix would write
  statelint show train.py          the state of its probes, leaf by leaf, and what it weighs
  statelint rule SL401             what a rule is about, and how to mend it
"""


Option = Callable[[Callable[..., int]], Callable[..., int]]
"""What click's option makes: a decorator of a command."""


def _split(ctx: click.Context, parameter: click.Parameter, values: Iterable[str]) -> tuple[str, ...]:
    named: list[str] = []
    for value in values:
        texts = [text.strip() for text in value.split(",") if text.strip()]
        if not texts:
            raise click.UsageError(f"{parameter.opts[0]}: {value!r} names no rule")
        named += texts
    return tuple(named)


def rules_option(name: str, text: str) -> Option:
    """An option that takes rules, separated by commas."""
    return click.option(name, multiple=True, metavar="RULES", callback=_split, help=text)


def _not_empty(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value == "":
        raise click.UsageError(f"{parameter.opts[0]}: '' names no file")
    return value


def file_option(*names: str, text: str, metavar: str = "FILE") -> Option:
    """An option that names a file."""
    return click.option(*names, metavar=metavar, callback=_not_empty, help=text)


color_option = click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True, help="Colours."
)


def check_combination(*groups: dict[str, bool]) -> None:
    """At most one option of each group may be given."""
    for group in groups:
        given = [name for name, is_given in group.items() if is_given]
        if len(given) > 1 and given != ["--fix", "--diff"]:
            raise click.UsageError(f"{given[0]} does not go with {given[1]}")


def check_folder() -> None:
    """The current folder, which all paths are shown relative to, may be gone."""
    try:
        os.getcwd()
    except OSError as error:
        raise UsageError([f"the current folder cannot be read: {error.strerror}"]) from None
