"""What the commands have in common: their options, and their exit codes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from statelint.options import UsageError

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes: nothing found, something found, statelint could not do its work, Ctrl-C."""

EXAMPLES = """\b
Examples:
  statelint                        lint the current folder and run its probes
  statelint --no-probe train.py    read the source only; runs none of it
  statelint --select SL4,SL101 .   only some rules: codes, prefixes or names
  statelint --diff .               what --fix would write
  statelint show train.py          the state of its probes, leaf by leaf
  statelint rule SL401             what a rule is about, and how to mend it
"""


class Sectioned(click.Command):
    """A command whose help shows its options in sections, each with the parameters that it names."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections; what none of them names stands in the last."""
        options = {option.name or "": option for option in self.get_params(ctx) if isinstance(option, click.Option)}
        named = {name for names in self.sections.values() for name in names}
        rest = [name for name in options if name not in named]
        last = list(self.sections)[-1]
        for title, names in self.sections.items():
            parameters = [options[name] for name in (*names, *(rest if title == last else ())) if name in options]
            rows = [row for row in (option.get_help_record(ctx) for option in parameters) if row is not None]
            with formatter.section(title):
                # One width for all sections, so that the eye need not look for where the text begins.
                formatter.write_dl([(option.ljust(WIDEST), text) for option, text in rows], WIDEST)


WIDEST = 26
"""Characters of an option, beyond which its help begins on the next line."""


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


def complete_rules(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The codes that a shell offers for what is typed, after the last comma; or the names."""
    from statelint import rules  # only where a shell asks

    before, comma, typed = incomplete.rpartition(",")
    known = {code: module.rule.name for code, module in rules.load().items()}
    by_name = {name: code for code, name in known.items()}
    words = known if typed.upper() == typed else by_name
    return [CompletionItem(before + comma + word, help=words[word]) for word in words if word.startswith(typed)]


def rules_option(name: str, text: str) -> Option:
    """An option that takes rules, separated by commas."""
    return click.option(name, multiple=True, metavar="RULES", callback=_split, shell_complete=complete_rules, help=text)


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


config_option = file_option("--config", "config_file", text="Read this file in place of the nearest pyproject.toml.")
isolated_option = click.option("--isolated", is_flag=True, help="Read no configuration.")
python_option = file_option(
    "--python", text="The interpreter to run probes under, which must have jax.", metavar="PYTHON"
)
compile_option = click.option(
    "--compile", is_flag=True, help="Compile the steps of probes: XLA says where leaves go, and what donation saves."
)
no_cache_option = click.option("--no-cache", is_flag=True, help="Find everything out anew, and keep nothing.")


def cache_dir_option(text: str) -> Option:
    """An option that names the folder of the caches."""
    return click.option("--cache-dir", metavar="FOLDER", callback=_folder, envvar="STATELINT_CACHE_DIR", help=text)


def _folder(ctx: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    if value and os.path.exists(value) and not os.path.isdir(value):
        raise click.UsageError(f"{parameter.opts[0]}: {value} is not a folder")
    return _not_empty(ctx, parameter, value)


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
