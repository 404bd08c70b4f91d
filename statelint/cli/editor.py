"""`statelint editor`: what makes an editor, or GitHub, read statelint's output."""

from __future__ import annotations

from importlib import resources

import click

from statelint.cli.common import CLEAN
from statelint.cli.terminal import put

EDITORS = {"github": "github.json", "vscode": "vscode.json", "vim": "vim.vim", "emacs": "emacs.el"}
"""The editors, each with its file in ``statelint/editors``."""


@click.command("editor")
@click.argument("name", metavar="EDITOR", type=click.Choice(list(EDITORS)))
def command(name: str) -> int:
    """Print what makes an editor read statelint's output.

    \b
    github  a problem matcher for GitHub Actions
    vscode  .vscode/tasks.json
    vim     ~/.vim/compiler/statelint.vim
    emacs   for the init file: M-x compile, and Flymake
    """
    put(resources.files("statelint").joinpath("editors", EDITORS[name]).read_text(encoding="utf-8"))
    return CLEAN
