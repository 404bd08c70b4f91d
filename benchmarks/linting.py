"""What it takes to read sources: statelint beside other linters, over the same files."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.corpora import Corpus, gather, part, spread
from benchmarks.peers import Command, Peers, statelint
from benchmarks.profiling import profile
from benchmarks.table import Row
from benchmarks.timing import Run, peak, race, seconds

CHANGED = 5
"""Files that a commit changes."""


@dataclasses.dataclass(frozen=True)
class Effort:
    """How much is done for a figure.

    Attributes:
        rounds: of what takes seconds.
        few: rounds of what takes long.
        part: files for peers that would take many minutes for all.
        growth: the most files of which the growth is measured.
    """

    rounds: int = 5
    few: int = 3
    part: int = 200
    growth: int = 2000


QUICK = Effort(rounds=1, few=1, part=8, growth=40)


class Linting:
    """The comparisons.

    Args:
        folder: for caches and copies.
    """

    def __init__(self, peers: Peers, jax: Corpus, general: Corpus, folder: Path, effort: Effort) -> None:
        self.peers = peers
        self.jax = jax
        self.general = general
        self.folder = folder
        self.effort = effort

    def cold(self) -> Iterator[Row]:
        """Nothing is known of the files yet; ruff."""
        for name, corpus, at_most in (("JAX", self.jax, 4), ("general", self.general, 0.6)):
            theirs, ours = self._run(self.peers.ruff("--no-cache", corpus.folder)), self._run(self._cold(corpus))
            figures = race(theirs, ours, self.effort.rounds)
            yield Row(f"cold, {name} corpus ({corpus})", "ruff", *figures, at_most, profile=partial(profile, ours))

    def warm(self) -> Iterator[Row]:
        """Nothing has changed since the last run; the first round fills the caches."""
        theirs = self._run(self.peers.ruff("--cache-dir", self.folder / "ruff_cache", self.jax.folder))
        ours = self._run(statelint("--cache-dir", self._cache, self.jax.folder))
        figures = race(theirs, ours, self.effort.rounds + 1)
        yield Row("warm, JAX corpus", "ruff, warm", *figures, 0.6, profile=partial(profile, ours))

    def changed(self) -> Iterator[Row]:
        """A commit, as pre-commit has it checked: what has changed is given by name, the rest is in the cache."""
        about_jax = [file for file in self.jax.files if b"jax" in file.read_bytes()]
        files = spread(about_jax, CHANGED)
        before = {file: file.read_bytes() for file in files}
        turns = itertools.count()

        def change() -> None:
            turn = next(turns)
            for file, content in before.items():
                file.write_bytes(content + b"\n# turn %d\n" % turn)

        self._run(statelint("--cache-dir", self._cache, self.jax.folder)).measured(seconds)
        ours = self._run(statelint("--cache-dir", self._cache, *files), prepare=change)
        figures = race(self._run(self.peers.flake8(*files)), ours, self.effort.rounds)
        yield Row(f"{CHANGED} changed files, by name", "flake8", *figures, 0.5, profile=partial(profile, ours))

    def others(self) -> Iterator[Row]:
        """Nothing is known yet; other linters, each on what it survives in reasonable time."""
        some = self._part("some", self.effort.part)
        able = gather(self.peers.survivors_of_jaxlint(self.jax.files), self.jax.folder, self.folder / "able")
        for name, peer, what, corpus, faster in (
            ("flake8", self.peers.flake8, "JAX corpus", self.jax, 5),
            ("jaxlint", self.peers.jaxlint, "JAX corpus but for what crashes jaxlint", able, 3),
            ("fixit", self.peers.fixit, "part of the JAX corpus", some, 50),
            ("pylint", self.peers.pylint, "part of the JAX corpus", some, 20),
        ):
            theirs, ours = self._run(peer(corpus.folder)), self._run(self._cold(corpus))
            figures = race(theirs, ours, self.effort.few)
            yield Row(f"cold, {what} ({corpus})", name, *figures, 1 / faster, profile=partial(profile, ours))

    def memory(self) -> Iterator[Row]:
        """The most that all processes of a run hold."""
        theirs, ours = self._run(self.peers.flake8(self.jax.folder)), self._run(self._cold(self.jax))
        figures = theirs.measured(peak), ours.measured(peak)
        yield Row("peak memory, cold, JAX corpus", "flake8", *figures, 2, "bytes")

    def growth(self) -> Iterator[Row]:
        """Whether twice the files take twice the time, and four times as many four times."""
        most = self.effort.growth
        runs = [self._run(self._cold(self._part(f"growth{share}", most // share))) for share in (4, 2, 1)]
        rounds = [[run.measured(seconds) for run in runs] for _ in range(self.effort.few)]
        small, middle, large = map(min, zip(*rounds, strict=True))
        line = 3 * middle - 2 * small
        against = f"the line through {most // 4:,} ({small:.2f} s) and {most // 2:,} ({middle:.2f} s)"
        yield Row(f"growth: cold, {most:,} files", against, line, large, 1.15, profile=partial(profile, runs[-1]))

    @property
    def _cache(self) -> Path:
        return self.folder / "statelint_cache"

    def _part(self, name: str, count: int) -> Corpus:
        return part(self.jax, count, self.folder / name)

    def _cold(self, corpus: Corpus) -> Command:
        return statelint("--no-cache", corpus.folder)

    def _run(self, command: Command, prepare: Callable[[], object] = lambda: None) -> Run:
        return Run(command, self.folder, prepare)
