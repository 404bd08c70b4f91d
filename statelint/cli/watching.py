"""`--watch`: check once, and once more whenever what is linted has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NoReturn

import msgspec

from statelint import inputs
from statelint.cli.terminal import say
from statelint.config import Config, ConfigError
from statelint.discovery import SUFFIXES
from statelint.files import digest
from statelint.options import UsageError
from statelint.report.base import counted

_PULSE = 500
"""Milliseconds until the first look at what changed before the system began to tell."""


class _Sight(msgspec.Struct, frozen=True):
    """What there is to lint.

    Attributes:
        folders: where files may change, come and go.
        contents: the digest of each file by its path.
        errors: why there is nothing to lint; all else is as it was before.
    """

    config: Config
    folders: frozenset[str]
    contents: dict[str, bytes | None]
    errors: tuple[str, ...] = ()

    def news(self, before: _Sight) -> str:
        """What has changed, so that a check may find something else; empty when it cannot."""
        paths = {path for path, _ in self.contents.items() ^ before.contents.items()}
        if not paths:
            return "" if self.errors == before.errors else "the configuration changed"
        return f"{paths.pop() if len(paths) == 1 else counted(len(paths), 'file')} changed"


def watch(
    paths: Sequence[str], load: Callable[[], Config], check: Callable[[Config], object], *, quiet: bool
) -> NoReturn:
    """Check now and after every change, until Ctrl-C.

    Args:
        load: reads the configuration.
        check: lints and prints the report.
        quiet: print nothing besides.

    Raises:
        UsageError: watchfiles is not there, or the first check cannot be made.
    """
    _require_watchfiles()
    sight = _look(paths, load())
    check(sight.config)
    while True:
        _note("watching for changes, Ctrl-C ends", quiet=quiet)
        before = sight
        while not (news := sight.news(before)):
            sight = _next(sight, paths, load)
        _note(news, quiet=quiet)
        try:
            if sight.errors:
                raise UsageError(sight.errors)
            check(sight.config)
        except (ConfigError, UsageError) as error:
            for line in error.lines:
                say(f"statelint: error: {line}")


def _require_watchfiles() -> None:
    try:
        import watchfiles  # noqa: F401
    except ImportError:
        raise UsageError(["--watch needs watchfiles: pip install 'jax-statelint[watch]'"]) from None


def _note(text: str, *, quiet: bool) -> None:
    if not quiet:
        say(f"[{time.strftime('%H:%M:%S')}] {text}")


def _next(sight: _Sight, paths: Sequence[str], load: Callable[[], Config]) -> _Sight:
    """What is to be seen as soon as it is something else."""
    import watchfiles

    known = set(map(os.path.realpath, sight.contents))

    def is_worth_a_look(change: object, path: str) -> bool:
        is_file = path.endswith((*SUFFIXES, ".toml", ".gitignore")) or path in known
        return is_file or os.path.isdir(path) or f"{path}/" in sight.folders

    try:
        # Each folder by itself: what is excluded costs nothing, however large it is.
        events = watchfiles.watch(
            *(filter(os.path.isdir, sight.folders)),
            watch_filter=is_worth_a_look,
            recursive=False,
            rust_timeout=_PULSE,
            yield_on_timeout=True,
        )
        for number, changes in enumerate(events):
            if number == 0 or changes:
                try:
                    seen = _look(paths, load())
                except (ConfigError, UsageError) as error:
                    seen = msgspec.structs.replace(sight, contents=_digests(sight.contents), errors=error.lines)
                if seen != sight:
                    return seen
    except OSError as error:
        raise UsageError([f"--watch: {error}"]) from None
    return sight


def _look(paths: Sequence[str], config: Config) -> _Sight:
    found = inputs.search(paths, config)
    kept = [os.path.join(config.root, config.baseline)] if config.baseline else []
    named = [*found.files, *([config.file] if config.file else []), *kept]
    folders = {os.path.join(os.path.dirname(os.path.realpath(path)), "") for path in named}
    root = os.path.join(os.path.realpath(config.root), "")
    return _Sight(config, found.folders | folders | {root}, _digests(named))


def _digests(paths: Iterable[str]) -> dict[str, bytes | None]:
    return {path: _digest(path) for path in paths}


def _digest(path: str) -> bytes | None:
    try:
        with open(path, "rb") as stream:
            return digest(stream.read())
    except OSError:
        return None
