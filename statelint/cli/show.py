"""`statelint show`: the state of each probe."""

from __future__ import annotations

import sys

import click

from statelint import config, rules, showing
from statelint.cli import meter
from statelint.cli.common import (
    CLEAN,
    FOUND,
    cache_dir_option,
    check_combination,
    check_folder,
    color_option,
    compile_option,
    config_option,
    isolated_option,
    no_cache_option,
    python_option,
)
from statelint.cli.printed import say_printed, verbose_option
from statelint.cli.terminal import colours, put
from statelint.model.trace import ProbeFailure
from statelint.options import Options
from statelint.report import state, state_json


@click.command("show", short_help="Show the state of each probe, leaf by leaf.")
@click.argument("targets", nargs=-1, type=click.Path(), metavar="[PATH | MODULE:NAME]...")
@click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The form."
)
@click.option("--all", "everything", is_flag=True, help="Show each leaf, also where many are alike.")
@python_option
@compile_option
@config_option
@isolated_option
@no_cache_option
@cache_dir_option("Keep what was found out here, not in .statelint_cache beside the configuration.")
@verbose_option
@color_option
def command(
    targets: tuple[str, ...],
    output_format: str,
    everything: bool,
    python: str | None,
    compile: bool,
    config_file: str | None,
    isolated: bool,
    no_cache: bool,
    cache_dir: str | None,
    verbose: bool,
    color: str,
) -> int:
    """Show the state of each probe, leaf by leaf, and what it weighs.

    Probes are those declared in files and folders, the current one when nothing is named, and those named as
    module:name. Exit codes: 0 all were traced, 1 some could not be, 2 there is nothing to show.
    """
    check_combination({"--config": config_file is not None, "--isolated": isolated})
    check_folder()
    start = next((target for target in targets if not showing.is_reference(target)), ".")
    settings = config.load(rules.names(), start=start, file=config_file, isolated=isolated)
    with meter.progress(quiet=False) as progress:
        outcomes = showing.show(
            targets,
            settings,
            Options(python=python, compile=compile, cache=not no_cache, cache_dir=cache_dir),
            progress,
        )
    for outcome in outcomes if verbose else ():
        say_printed(outcome.probe.name, outcome.printed)
    look = {"colour": colours(color, to_file=False), "fold": sys.stdout.isatty()}
    put(state_json.as_json(outcomes) if output_format == "json" else state.as_text(outcomes, everything, **look))
    return FOUND if any(isinstance(outcome, ProbeFailure) for outcome in outcomes) else CLEAN
