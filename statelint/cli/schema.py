"""`statelint schema`: what may stand in the configuration."""

from __future__ import annotations

import json

import click

from statelint.cli.common import CLEAN
from statelint.cli.terminal import put


@click.command("schema", short_help="Print the JSON Schema of [tool.statelint].")
def command() -> int:
    """Print the JSON Schema of [tool.statelint], for editors and validators."""
    from statelint import rules
    from statelint.schema import schema

    put(json.dumps(schema(rules.names()), indent=2) + "\n")
    return CLEAN
