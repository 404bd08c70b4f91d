"""`statelint clean`: delete what earlier runs kept."""

from __future__ import annotations

import click

from statelint import cache, config, rules
from statelint.cli.common import (
    CLEAN,
    cache_dir_option,
    check_combination,
    check_folder,
    config_option,
    isolated_option,
)
from statelint.cli.terminal import put
from statelint.config import shown
from statelint.options import UsageError


@click.command("clean")
@cache_dir_option("Delete the caches in this folder, not .statelint_cache beside the configuration.")
@config_option
@isolated_option
def command(cache_dir: str | None, config_file: str | None, isolated: bool) -> int:
    """Delete what earlier runs kept: the caches, and nothing else."""
    check_combination({"--config": config_file is not None, "--isolated": isolated})
    check_folder()
    settings = config.load(rules.names(), file=config_file, isolated=isolated)
    folder = cache.folder_of(settings.root, cache_dir)
    try:
        was_there = cache.clean(folder)
    except OSError as error:
        raise UsageError([f"{shown(error.filename or folder)}: cannot be deleted: {error.strerror}"]) from None
    put(f"{'Deleted' if was_there else 'There is no cache in'} {shown(folder)}\n")
    return CLEAN
