"""What a run is asked beyond its configuration, and what keeps it from doing that."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class UsageError(Exception):
    """What keeps a run from doing its work: one line each."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is asked beyond its configuration.

    Attributes:
        select: rules to run, in place of the configured ones.
        extend_select: rules to run besides.
        ignore: rules not to run besides the configured ones.
        probe: run the declared probes.
        python: the interpreter to run them under, in place of the configured one.
        renew_baseline: write today's findings to the baseline.
        restore: take the states of probes through a real checkpoint of this library.
        compile: compile the steps of probes.
        measure: run the steps of probes for real, too.
        cache: keep what is found out, and use what was.
        cache_dir: where, in place of beside the configuration.
        jobs: how many processes may read files.
        buffer: a path and the content to lint under it, in place of any files.
    """

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    probe: bool = True
    python: str | None = None
    renew_baseline: bool = False
    restore: str | None = None
    compile: bool = False
    measure: bool = False
    cache: bool = False
    cache_dir: str | None = None
    jobs: int = 1
    buffer: tuple[str, bytes] | None = None
