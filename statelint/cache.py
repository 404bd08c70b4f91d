"""What need not be done again: what was found out, for as long as all that was looked at for it is the same.

A cache is one file. It is replaced as a whole, so that two runs at once do each other no harm, and it begins with a
digest of the rest, so that a damaged one counts for nothing. What keeps it from being written costs time, no more.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from statelint import __version__, files
from statelint.files import digest
from statelint.files import place as place_of

FOLDER = ".statelint_cache"
"""Where caches stand when nobody says otherwise: beside the configuration."""

MOST = 16
"""Files in a folder of caches: one for each set of settings and each folder that is linted from."""

_TAG = "CACHEDIR.TAG"
_OURS = {
    _TAG: b"Signature: 8a477f597d28d172789f06886806bc55\n# What statelint need not find out again.\n",
    ".gitignore": b"*\n",
}
"""What a folder of caches holds besides; https://bford.info/cachedir/ is where the signature is from."""

_NAME = re.compile(r"[a-z]+-[0-9a-f]{32}\.cache")
_INSTALLED = tuple(f"{os.sep}{name}" for name in ("site-packages", "dist-packages", f"lib{os.sep}python"))

PRUNED = 16
"""In one of so many turns what is out of date is let go: to look for it takes a while."""

BEYOND = "::"
"""Between the path of a file and what else a name says."""

Found = TypeVar("Found")


class Node(msgspec.Struct, frozen=True, array_like=True):
    """A place that was looked at.

    Attributes:
        content: what stands for it; None when there was no file.
        since: the turn from which on it is so.
        looked_at: the places that were looked at because of it. One that ends in a slash is a folder, of which the
            modules in it count.
    """

    content: bytes | None
    since: int
    looked_at: tuple[str, ...] = ()


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """What was found out, and in which turn."""

    turn: int
    found: bytes


class _Sheet(msgspec.Struct, array_like=True):
    """What a cache holds. A turn is a run that wrote it."""

    turn: int = 0
    nodes: dict[str, Node] = {}
    entries: dict[str, Entry] = {}


class Cache(Generic[Found]):
    """What earlier runs found out, by what it is about: the path of a file, or of something in one.

    Args:
        kind: the type of what is found out.
        file: where it is kept; None: nowhere, and nothing is known.
    """

    def __init__(self, kind: Any, file: str | None) -> None:
        self._file = file
        self._decoder = msgspec.msgpack.Decoder(kind)
        self._sheet = _Sheet() if file is None else _read(file)
        self._contents: dict[str, bytes | None] = {}

    def known(self, about: Iterable[tuple[str, bytes]]) -> dict[str, Found]:
        """What is known of these, given by name and content."""
        if self._file is None:
            return {}
        given = dict(about)
        self._contents.update((place_of(name), digest(data)) for name, data in given.items())
        entries = {name: self._sheet.entries[name] for name in given if name in self._sheet.entries}
        newest = self._newest(place_of(name) for name in entries)
        known: dict[str, Found] = {}
        for name, entry in entries.items():
            if newest[place_of(name)] <= entry.turn:
                with contextlib.suppress(msgspec.MsgspecError):
                    known[name] = self._decoder.decode(entry.found)
        return known

    def learn(
        self, found: Mapping[str, Found], looked_at: Mapping[str, Collection[str]], read: Mapping[str, bytes | None]
    ) -> None:
        """Keep what was found out about what `known` was asked for.

        Args:
            looked_at: by a name or path the places, with a file there or none, that were looked at because of it.
            read: the digests of files that were read besides, as they were then; None where there was no file.
        """
        if self._file is None or not found:
            return
        self._contents.update((place_of(path), content) for path, content in read.items())
        with contextlib.suppress(UnicodeEncodeError):  # a file's name need not be text
            self._learn(found, looked_at)
            _write(self._file, self._sheet)

    def _learn(self, found: Mapping[str, Found], looked_at: Mapping[str, Collection[str]]) -> None:
        sheet = self._sheet
        sheet.turn += 1
        reasons = {place_of(path): sorted(set(map(place_of, places))) for path, places in looked_at.items()}
        leaves = {place_of(name) for name in found}.union(*reasons.values()).difference(reasons)
        for place in (*reasons, *leaves):
            sheet.nodes[place] = self._node(place, reasons.get(place, ()))
        sheet.entries.update((name, Entry(sheet.turn, msgspec.msgpack.encode(each))) for name, each in found.items())
        if sheet.turn % PRUNED == 0:
            self._prune(found)

    def _node(self, place: str, looked_at: Iterable[str]) -> Node:
        content, old = self._content(place), self._sheet.nodes.get(place)
        if old is None or old.content != content:
            return Node(content, self._sheet.turn, tuple(looked_at))
        return Node(content, old.since, tuple(dict.fromkeys((*old.looked_at, *looked_at))))

    def _content(self, place: str) -> bytes | None:
        """What stands for the content of a place; of what is installed, its size and its time do."""
        if place not in self._contents:
            self._contents[place] = _content(place)
        return self._contents[place]

    def _newest(self, starts: Iterable[str]) -> dict[str, int]:
        """By place the last turn in which it, or anything that was looked at because of it, came to be as it is."""
        since: dict[str, int] = {}
        because: dict[str, list[str]] = defaultdict(list)
        for place in self._reached(starts):
            node = self._sheet.nodes.get(place)
            is_same = node is not None and node.content == self._content(place)
            since[place] = node.since if node is not None and is_same else self._sheet.turn + 1
            for other in node.looked_at if node is not None else ():
                because[other].append(place)
        newest: dict[str, int] = {}
        for latest in sorted(since, key=since.__getitem__, reverse=True):
            stack = [latest]
            while stack:
                place = stack.pop()
                if place not in newest:
                    newest[place] = since[latest]
                    stack.extend(because[place])
        return newest

    def _reached(self, starts: Iterable[str]) -> Collection[str]:
        reached = dict.fromkeys(starts)
        stack = list(reached)
        while stack:
            node = self._sheet.nodes.get(stack.pop())
            for place in node.looked_at if node is not None else ():
                if place not in reached:
                    reached[place] = None
                    stack.append(place)
        return reached

    def _prune(self, found: Collection[str]) -> None:
        """Let go of files that are gone, and of places that nothing known depends on."""
        entries = self._sheet.entries
        self._sheet.entries = {
            name: entry for name, entry in entries.items() if name in found or os.path.exists(name.partition(BEYOND)[0])
        }
        reached = self._reached(map(place_of, self._sheet.entries))
        self._sheet.nodes = {place: node for place, node in self._sheet.nodes.items() if place in reached}


def _content(place: str) -> bytes | None:
    try:
        if place.endswith(os.sep):
            return _modules(place)
        if os.path.isdir(place):
            return b""
        if any(part in place for part in _INSTALLED):
            status = os.stat(place)
            return digest(b"%d %d" % (status.st_size, status.st_mtime_ns))
        with open(place, "rb") as stream:
            return digest(stream.read())
    except OSError:
        return None


def _modules(folder: str) -> bytes:
    """What stands for the modules that can be imported from a folder."""
    if any(part in folder for part in _INSTALLED):
        return digest(b"%d" % os.stat(folder).st_mtime_ns)
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.name.endswith(".py") or _may_be_package(entry))
    return digest("/".join(names).encode("utf-8", "surrogateescape"))


def _may_be_package(entry: os.DirEntry[str]) -> bool:
    return entry.name.isidentifier() and entry.name != "__pycache__" and entry.is_dir()


# --- the files ------------------------------------------------------------------------------------------


def folder_of(root: str, chosen: str | None) -> str:
    """The folder of the caches: the one that is chosen, or that of the project with this root."""
    return chosen or os.path.join(root, FOLDER)


def file_in(folder: str, kind: str, settings: object) -> str:
    """The file of the cache of this kind for a run from the current folder under these settings."""
    identity = (*_signature(), sys.version, os.getcwdb(), settings)
    return os.path.join(folder, f"{kind}-{digest(msgspec.msgpack.encode(identity)).hex()}.cache")


@functools.cache
def _signature() -> tuple[object, ...]:
    """What tells this statelint from another: its version, and what it is made of."""
    package = os.path.dirname(os.path.abspath(__file__))
    return __version__, *_made_of(package)


def _made_of(package: str) -> Iterator[tuple[str, int, int]]:
    for folder, folders, names in os.walk(package):
        folders.sort()
        for name in sorted(names):
            if name.endswith(".py"):
                status = os.stat(os.path.join(folder, name))
                yield (name, status.st_size, status.st_mtime_ns)


def _read(file: str) -> _Sheet:
    """What the file holds; nothing when it is not there, or not whole."""
    try:
        with open(file, "rb") as stream:
            head, body = stream.read(16), stream.read()
        if head == digest(body):
            return msgspec.msgpack.decode(body, type=_Sheet)
    except (OSError, msgspec.MsgspecError):
        pass
    return _Sheet()


def _write(file: str, sheet: _Sheet) -> None:
    folder = os.path.dirname(file)
    with contextlib.suppress(OSError):
        body = msgspec.msgpack.encode(sheet)
        _make(folder)
        files.write(file, digest(body) + body, lasting=False)
        for old in sorted(_caches(folder), key=os.path.getmtime)[:-MOST]:
            os.unlink(old)


def _make(folder: str) -> None:
    """The folder, which git and backups are to leave out; one that is there already may be anybody's."""
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        return
    for name, data in _OURS.items():
        files.write(os.path.join(folder, name), data)


def _caches(folder: str) -> list[str]:
    paths = (os.path.join(folder, name) for name in os.listdir(folder) if _NAME.fullmatch(name))
    return [path for path in paths if os.path.isfile(path)]


def clean(folder: str) -> bool:
    """Delete the caches in a folder, and the folder where nothing else is in it; whether there were any.

    Raises:
        OSError: something cannot be deleted.
    """
    if not os.path.isdir(folder):
        return False
    files.sweep(folder)
    found = _caches(folder)
    for path in found:
        os.unlink(path)
    if {name: _content(os.path.join(folder, name)) for name in os.listdir(folder)} == {
        name: digest(data) for name, data in _OURS.items()
    }:
        for name in _OURS:
            os.unlink(os.path.join(folder, name))
        (os.unlink if os.path.islink(folder) else os.rmdir)(folder)
        return True
    return bool(found)
