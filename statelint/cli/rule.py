"""`statelint rule`: what a rule is about."""

from __future__ import annotations

import click

from statelint import catalogue
from statelint.cli.common import CLEAN, complete_rules
from statelint.cli.terminal import colours, put


@click.command("rule")
@click.argument("name", required=False, metavar="[CODE|PREFIX|NAME]", shell_complete=complete_rules)
@click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The form."
)
def command(name: str | None, output_format: str) -> int:
    """Explain a rule, or list all of them, or those of a prefix."""
    found = catalogue.named(name or "ALL")
    if output_format == "json":
        put(catalogue.as_json(found))
    elif len(found) > 1:
        put(catalogue.table(found))
    else:
        put(catalogue.page(found[0], colour=colours("auto", to_file=False)))
    return CLEAN
