"""Paths to the Python files that are linted."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from statelint import patterns

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

EXCLUDE: tuple[str, ...] = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pyenv",
    ".pytest_cache",
    ".ruff_cache",
    ".statelint_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
"""What is not walked into when the configuration says nothing."""

SUFFIXES = (".py", ".pyw")


class Found(msgspec.Struct, frozen=True):
    """The files, sorted, each once; a line for every path that could not be taken; and the folders walked into."""

    files: tuple[str, ...]
    errors: tuple[str, ...] = ()
    folders: frozenset[str] = frozenset()


def find(
    paths: Iterable[str],
    *,
    root: str = ".",
    exclude: Sequence[str] = EXCLUDE,
    respect_gitignore: bool = True,
) -> Found:
    """The Python files at and below these paths.

    A file given by name is taken whatever it is called and whatever is excluded; so is a folder, to which
    exclusions then apply from inside.

    Args:
        root: the folder that patterns of ``exclude`` are relative to.
        exclude: patterns as in .gitignore.
        respect_gitignore: leave out what git ignores.
    """
    search = _Search(_Excludes(tuple(exclude)), _slashed(os.path.realpath(root)), respect_gitignore)
    for path in paths:
        search.add(path)
    search.follow_links()
    return Found(tuple(sorted(search.files.values())), tuple(search.errors), frozenset(search.walked))


def tidy(path: str) -> str:
    """A path that the user named, as it is shown."""
    return (path[2:].lstrip("/") or ".") if path.startswith("./") else path


def is_notebook(path: str) -> bool:
    """Whether it is Python in a form that is not read."""
    return path.endswith(".ipynb")


class _Excludes:
    """Patterns, of which the plain names, by far the most, are looked up in a set."""

    def __init__(self, excluded: tuple[str, ...]) -> None:
        plain = {pattern for pattern in excluded if not set(pattern) & set("/*?[]!#\\ ")}
        self.names = frozenset(plain)
        rest = [pattern for pattern in excluded if pattern not in plain]
        self.spec = patterns.spec(rest) if rest else None

    def match(self, name: str, relative: str) -> bool:
        return name in self.names or (self.spec is not None and self.spec.match_file(relative))

    def match_any(self, relative: str) -> bool:
        """Whether it, or a folder above it, is excluded."""
        return not self.names.isdisjoint(relative.split("/")) or self.match("", relative)


class _Ignores(msgspec.Struct, frozen=True):
    """The patterns of one ignore file, and those of the folders above, which hold where it is silent."""

    base: str
    spec: GitIgnoreSpec
    above: _Ignores | None

    def match(self, path: str) -> bool:
        """Whether an absolute path, with a slash behind it for a folder, is ignored."""
        level: _Ignores | None = self
        while level is not None:
            verdict = level.spec.check_file(path[len(level.base) :]).include
            if verdict is not None:
                return verdict
            level = level.above
        return False


class _Place(msgspec.Struct, frozen=True):
    """A folder to walk, or a link to a file. Every path of a folder ends in a slash, unless it is empty.

    Attributes:
        path: as the user would write it; empty for the current folder.
        real: absolute, without links.
        logical: absolute, with the links that led here: what ignore files are about.
        relative: to what exclusions are relative to.
    """

    path: str
    real: str
    logical: str
    relative: str
    ignores: _Ignores | None = None


class _Search:
    """The state of one search."""

    def __init__(self, excludes: _Excludes, root: str, respect_gitignore: bool) -> None:
        self.files: dict[str, str] = {}
        self.errors: list[str] = []
        self.walked: set[str] = set()
        self._excludes = excludes
        self._root = root
        self._gitignore = respect_gitignore
        self._links: list[_Place] = []

    def add(self, path: str) -> None:
        """A path that the user named."""
        path = tidy(path)
        if os.path.isdir(path):
            self._walk(self._top(path))
        elif not os.path.exists(path):
            self.errors.append(f"{path or repr(path)}: no such file or folder")
        elif is_notebook(path):
            self.errors.append(f"{path}: notebooks are not checked")
        else:
            # A name that the user gave wins over the one that a walk found.
            self.files[os.path.realpath(path)] = path

    def follow_links(self) -> None:
        """Take links last, so that what can be reached without one is shown without it."""
        while self._links:
            links, self._links = sorted(self._links, key=lambda link: link.path), []
            for link in links:
                if link.path.endswith("/"):
                    self._walk(link)
                else:
                    self.files.setdefault(link.real, link.path)

    def _top(self, path: str) -> _Place:
        real = _slashed(os.path.realpath(path))
        ignores = _ignores_above(real) if self._gitignore else None
        if ignores is not None and ignores.match(real):
            ignores = None
        relative = real.removeprefix(self._root) if real.startswith(self._root) else ""
        if self._excludes.match_any(relative):
            relative = ""
        return _Place("" if path == "." else _slashed(path), real, real, relative, ignores)

    def _walk(self, top: _Place) -> None:
        pending = [top]
        while pending:
            folder = pending.pop()
            if folder.real in self.walked:
                continue
            self.walked.add(folder.real)
            try:
                with os.scandir(folder.path or ".") as entries:
                    pending.extend(self._enter(folder, list(entries)))
            except OSError as error:
                self.errors.append(f"{folder.path or '.'}: cannot be read: {error.strerror}")

    def _enter(self, folder: _Place, entries: list[os.DirEntry[str]]) -> Iterator[_Place]:
        """Take the files of a folder, and give the folders in it."""
        ignores = folder.ignores
        if self._gitignore and any(entry.name == ".gitignore" for entry in entries):
            ignores = _read_ignores(folder.logical + ".gitignore", folder.logical, ignores)
        for entry in entries:
            is_folder = _is(entry.is_dir)
            if not is_folder and not (entry.name.endswith(SUFFIXES) and _is(entry.is_file)):
                continue
            name = entry.name + "/" if is_folder else entry.name
            if self._excludes.match(entry.name, folder.relative + name):
                continue
            if ignores is not None and ignores.match(folder.logical + name):
                continue
            if entry.is_symlink():
                real = os.path.realpath(entry.path)
                self._links.append(_child(folder, name, _slashed(real) if is_folder else real, ignores))
            elif is_folder:
                yield _child(folder, name, folder.real + name, ignores)
            else:
                self.files.setdefault(folder.real + name, folder.path + name)


def _is(kind: Callable[[], bool]) -> bool:
    """A link to itself is neither a file nor a folder."""
    try:
        return kind()
    except OSError:
        return False


def _child(folder: _Place, name: str, real: str, ignores: _Ignores | None) -> _Place:
    return _Place(folder.path + name, real, folder.logical + name, folder.relative + name, ignores)


def _slashed(folder: str) -> str:
    return folder.rstrip("/") + "/"


def _ignores_above(folder: str) -> _Ignores | None:
    """The ignore files that hold for a folder, from the repository's root down to the one above it."""
    chain = list(_upwards(folder))
    repository = next((above for above in chain if os.path.exists(above + ".git")), None)
    if repository is None:
        return None
    ignores = _read_ignores(repository + ".git/info/exclude", repository, None)
    for above in reversed(chain[1 : chain.index(repository) + 1]):
        ignores = _read_ignores(above + ".gitignore", above, ignores)
    return ignores


def _upwards(folder: str) -> Iterator[str]:
    """The folder itself, then those above it."""
    yield folder
    while folder != "/":
        folder = _slashed(os.path.dirname(folder.rstrip("/")))
        yield folder


@functools.cache
def _spec(text: str) -> GitIgnoreSpec:
    lines = text.splitlines()
    try:
        return patterns.spec(lines)
    except (ValueError, re.error):
        return patterns.spec(filter(patterns.is_pattern, lines))  # git passes over a line that makes no sense


def _read_ignores(file: str, base: str, above: _Ignores | None) -> _Ignores | None:
    """An ignore file on top of those above; one that cannot be read says nothing, as for git."""
    try:
        with open(file, encoding="utf-8", errors="surrogateescape") as stream:
            return _Ignores(base, _spec(stream.read()), above)
    except OSError:
        return above
