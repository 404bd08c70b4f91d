"""`statelint completion`: what a shell needs to complete statelint's command line."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from statelint.cli.common import CLEAN
from statelint.cli.terminal import put


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> int:
    """Print what makes a shell complete options and rules.

    \b
    For bash, in ~/.bashrc:   eval "$(statelint completion bash)"
    For zsh, in ~/.zshrc:     eval "$(statelint completion zsh)"
    For fish, in ~/.config/fish/config.fish:   statelint completion fish | source
    """
    root = ctx.find_root()
    name = root.info_name or root.command.name or ""
    made = get_completion_class(shell)
    assert made is not None
    put(made(root.command, {}, name, f"_{name.upper()}_COMPLETE").source())
    return CLEAN
