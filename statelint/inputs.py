"""The files of a run: which they are, what stands in them, and what the source rules say of them."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from statelint import cache, discovery, reading, rules, suppressions
from statelint.config import Config
from statelint.diagnostics import Diagnostic, Location
from statelint.model.source import SyntaxFault, UnusedIgnore
from statelint.options import Options, UsageError
from statelint.progress import SILENT, Progress
from statelint.reading import FileReport
from statelint.source import words
from statelint.source.text import Text, decode
from statelint.suppressions import Ignores


class Texts:
    """The text of files by their paths as shown, decoded when asked for; those that were not linted are read."""

    def __init__(self, files: Iterable[tuple[str, bytes]]) -> None:
        self._data = dict(files)
        self.of = functools.cache(self._of)
        self.lines = functools.cache(self._lines)

    def _of(self, path: str) -> str:
        try:
            data = self._data[path] if path in self._data else Path(path).read_bytes()
        except OSError:
            return ""
        text = decode(path, data)
        return text.content if isinstance(text, Text) else ""

    def _lines(self, path: str) -> list[str]:
        return [line.rstrip("\n") for line in io.StringIO(self.of(path), newline=None)]


class Comments:
    """The silencing comments of files by their paths; of files that were not read, they are looked for."""

    def __init__(self, texts: Texts, readings: Iterable[FileReport] = ()) -> None:
        self._texts = texts
        self._known = {report.path: report.comments for report in readings}
        self.of = functools.cache(self._of)

    def silence(self, finding: Diagnostic) -> bool:
        """Whether a comment of its file silences a finding."""
        return self.of(finding.location.path).silence(finding)

    def removed(self, comment: UnusedIgnore) -> UnusedIgnore:
        """With what takes it out of its file."""
        at = comment.at
        edits = suppressions.removal(self._texts.lines(at.path), at, comment.codes, rules.names())
        return msgspec.structs.replace(comment, removal=edits)

    def _of(self, path: str) -> Ignores:
        known = self._known.get(path)
        comments = suppressions.read(path, self._texts.of(path), rules.names()) if known is None else known
        return Ignores(comments, rules.names())


def search(paths: Sequence[str], config: Config) -> discovery.Found:
    """The files under these paths, or under the current folder, that the configuration leaves in.

    Raises:
        UsageError: a path is wrong.
    """
    exclude = discovery.EXCLUDE if config.exclude is None else config.exclude
    found = discovery.find(
        paths or (".",),
        root=config.root,
        exclude=(*exclude, *config.extend_exclude),
        respect_gitignore=config.respect_gitignore,
    )
    if found.errors:
        raise UsageError(found.errors)
    return found


class Files(NamedTuple):
    """Files by path and content, and those that cannot be read."""

    read: list[tuple[str, bytes]]
    faults: list[SyntaxFault]


def read_files(paths: Sequence[str], config: Config, buffer: tuple[str, bytes] | None = None) -> Files:
    """The files under these paths, or under the current folder; a buffer in place of them.

    Raises:
        UsageError: a path is wrong.
    """
    return read_paths(search(paths, config).files) if buffer is None else Files([buffer], [])


def read_paths(paths: Iterable[str]) -> Files:
    """Files by their paths."""
    found = Files([], [])
    for path in paths:
        try:
            with open(path, "rb") as stream:
                found.read.append((path, stream.read()))
        except OSError as error:
            found.faults.append(SyntaxFault(Location(path, 1), f"cannot be read: {error.strerror}"))
    return found


def read_sources(
    files: Sequence[tuple[str, bytes]], config: Config, options: Options, progress: Progress = SILENT
) -> list[FileReport]:
    """What the source rules say of these files, given by path and content, and the probes that they declare."""
    folder = cache.folder_of(config.root, options.cache_dir)
    screen = words.are_many([data for _, data in files])
    settings = (config.state_names, config.counter_names, screen)
    kept = cache.file_in(folder, "source", settings) if options.cache else None
    known: cache.Cache[FileReport] = cache.Cache(FileReport, kept)
    progress.found(len(files))
    return reading.read(files, config.names, known=known, screen=screen, jobs=options.jobs, told=progress.read)
