"""Files to the model: each is decoded, outlined, and read as far as a rule can fire in it."""

from __future__ import annotations

import ast
import functools
import symtable
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from statelint.diagnostics import Location
from statelint.files import digest, place
from statelint.model.names import Names
from statelint.model.source import SyntaxFault
from statelint.model.trace import ProbeSite
from statelint.source import callsites, plain, reader, registrations, restores, turns
from statelint.source.drawing import draw
from statelint.source.flavours import NAMED_TUPLE
from statelint.source.index import Index
from statelint.source.outline import TOO_DEEP, Hint, Outline, with_those_around
from statelint.source.text import Text, decode, is_text
from statelint.source.words import may_restore, mentions_jax, states_built, states_defined


class Reading(msgspec.Struct, frozen=True):
    """What one file says.

    Attributes:
        text: decoded; None when it cannot be.
        parts: what rules look at.
        probes: declared in it.
        screened: it says nothing of JAX, and there were too many of its kind to parse them.
    """

    path: str
    text: str | None
    parts: tuple[object, ...] = ()
    probes: tuple[ProbeSite, ...] = ()
    screened: bool = False


class Project:
    """The files that are read together; a class defined in one is known where another builds it.

    Args:
        names: what is called a state and what a counter.
        given: files by path and content, which is not looked for on the disk.
        screen: do not parse what says nothing of JAX; only bytes that no Python file has are seen then.

    Attributes:
        read_besides: the digests of other files that were read, by path.
    """

    def __init__(self, names: Names, given: Sequence[tuple[str, bytes]] = (), *, screen: bool = False) -> None:
        self.names = names
        self.index = Index(names, self._outline)
        self.read_besides: dict[str, bytes] = {}
        self._given: dict[str, tuple[str, bytes]] = {}
        self._screen = screen
        self._outlines: dict[str, Outline | SyntaxFault] = {}
        self._awaited: set[str] = set()
        self._give(given)

    def read(self, files: Sequence[tuple[str, bytes]]) -> Iterator[Reading]:
        """Read these files, given by path and content, one by one."""
        self._give(files)
        self._awaited = {place(path) for path, data in files if self._matters(path, data)}
        for path, data in files:
            is_read = place(path) in self._awaited
            yield self._read(path, data) if is_read else _passed_by(path, data, screen=self._screen)

    def _matters(self, path: str, data: bytes) -> bool:
        """Whether a rule may have something to say of a file."""
        return mentions_jax(data) or any(self._may_be_of_jax(name, path) for name in states_built(data))

    def _may_be_of_jax(self, name: bytes, path: str) -> bool:
        """Whether JAX may know a class that this file calls: not one that is defined where nothing is said of JAX."""
        definers = self._definers.get(name)
        if definers is None:
            return True
        self.index.looked_at.setdefault(path, set()).update(definers)
        return any(definers.values())

    @functools.cached_property
    def _definers(self) -> dict[bytes, dict[str, bool]]:
        """By the names of classes the files that define them, and whether those say something of JAX."""
        found: dict[bytes, dict[str, bool]] = {}
        for path, data in self._given.values():
            for name in states_defined(data):
                found.setdefault(name, {})[path] = mentions_jax(data)
        return found

    def _give(self, files: Sequence[tuple[str, bytes]]) -> None:
        self._given.update((place(path), (path, data)) for path, data in files)

    def _read(self, path: str, data: bytes) -> Reading:
        text = decode(path, data)
        if isinstance(text, SyntaxFault):
            return Reading(path, None, (text,))
        outline = self._drawn(place(path), text, whole=True)
        if isinstance(outline, SyntaxFault):
            return Reading(path, text.content, (outline,))
        says = False
        parts: tuple[object, ...] = ()
        try:
            says = mentions_jax(data) or any(map(functools.partial(self._builds, outline), outline.hints))
            parts = tuple(self._parts(outline)) if says else ()
        except RecursionError:
            parts = (SyntaxFault(Location(path, 1), TOO_DEEP),)
        outline.forget()
        return Reading(path, text.content, parts, tuple(outline.probes) if says else ())

    def _builds(self, outline: Outline, hint: Hint) -> bool:
        """A class that is named like a state is called there, and another file shows that JAX knows it."""
        name = hint.call.removesuffix(".create")
        known = self.index.known(outline, name, hint.scope) if name.endswith("State") else None
        return known is not None and (known.cls.flavour != NAMED_TUPLE.name or self._is_about_jax(known.cls.at.path))

    def _is_about_jax(self, path: str) -> bool:
        text = self._content(place(path))
        return text is not None and _says_jax(text)

    def _parts(self, outline: Outline) -> Iterator[object]:
        yield from self.index.classes(outline)
        yield from self._values(outline)
        yield from self._beyond(outline)

    def _values(self, outline: Outline) -> Iterator[object]:
        telling = {hint.node: hint.within for hint in outline.hints if self._tells(outline, hint)}
        return reader.read(outline, self.index, with_those_around(telling))

    def _beyond(self, outline: Outline) -> Iterator[object]:
        """What the outline shows besides classes and values."""
        yield from registrations.read(outline, self.index)
        yield from plain.read(outline, self.index)
        if may_restore(outline.text.content):
            yield from restores.read(outline, self.names)
        if outline.steps:
            yield from turns.read(outline, self.index)
        if outline.jits or outline.loops_again:
            yield from callsites.read(outline, self.names)

    def _tells(self, outline: Outline, hint: Hint) -> bool:
        """A state is built there, or a step changes one."""
        if hint.call in ("", "cls"):
            return True
        known = self.index.known(outline, hint.call, hint.scope)
        if known is None and hint.call.endswith(".create"):
            known = self.index.known(outline, hint.call.removesuffix(".create"), hint.scope)
        return known is not None

    # Outlines, of the given files and of those that they import.

    def _outline(self, path: str) -> Outline | None:
        if path not in self._outlines:
            text = self._content(path)
            if text is None:
                return None
            self._drawn(path, text, whole=path in self._awaited)
        found = self._outlines[path]
        if isinstance(found, Outline) and not found.forgotten and path not in self._awaited:
            found.forget()
        return found if isinstance(found, Outline) else None

    def _content(self, path: str) -> Text | None:
        if path in self._given:
            text = decode(*self._given[path])
        else:
            try:
                data = Path(path).read_bytes()
            except OSError:
                return None
            self.read_besides[path] = digest(data)
            text = decode(path, data)
        return text if isinstance(text, Text) else None

    def _drawn(self, path: str, text: Text, *, whole: bool) -> Outline | SyntaxFault:
        """The outline of a file; the ``whole`` one has its tree."""
        found = self._outlines.get(path)
        if found is None or (whole and isinstance(found, Outline) and found.forgotten):
            found = self._outlines[path] = self._draw(path, text, whole=whole)
        return found

    def _tree(self, text: Text) -> ast.Module | SyntaxFault:
        return parse(text)

    def _draw(self, path: str, text: Text, *, whole: bool) -> Outline | SyntaxFault:
        tree = self._tree(text)
        if isinstance(tree, SyntaxFault):
            return tree
        at = self.index.home(path)
        self.index.looked_at.setdefault(text.path, set()).update(at.looked_at)
        try:
            within = whole or _says_jax(text)  # a class may be registered there
            return draw(text, tree, at.module, self.names, is_package=at.is_package, in_functions=within)
        except RecursionError:
            return SyntaxFault(Location(text.path, 1), TOO_DEEP)


def _says_jax(text: Text) -> bool:
    return mentions_jax(text.content.encode(errors="replace"))


def _passed_by(path: str, data: bytes, *, screen: bool) -> Reading:
    """A file that says nothing of JAX: whether it is Python at all."""
    if screen and is_text(data):
        return Reading(path, None, screened=True)
    text = decode(path, data)
    if isinstance(text, SyntaxFault):
        return Reading(path, None, (text,))
    fault = None if _is_python(text) else parse(text)
    return Reading(path, text.content, (fault,) if isinstance(fault, SyntaxFault) else ())


def _is_python(text: Text) -> bool:
    """Whether it surely is: a symbol table takes less time than a tree."""
    try:
        with warnings.catch_warnings(action="ignore"):
            symtable.symtable(text.content, text.path, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def parse(text: Text) -> ast.Module | SyntaxFault:
    """The tree of a file, newer than the running Python or not."""
    try:
        with warnings.catch_warnings(action="ignore"):
            return ast.parse(text.content)
    except SyntaxError as error:
        return _lowered(text) or SyntaxFault(_place(text, error), error.msg)
    except (RecursionError, MemoryError):
        return SyntaxFault(Location(text.path, 1), TOO_DEEP)
    except ValueError as error:
        return SyntaxFault(Location(text.path, 1), str(error))


def _place(text: Text, error: SyntaxError) -> Location:
    """Where it is; a syntax error may lack a place, or give one beyond the end."""
    line = min(max(error.lineno or 1, 1), len(text.lines))
    return Location(text.path, line, max(error.offset or 1, 1))


def _lowered(text: Text) -> ast.Module | None:
    from statelint.source import lower

    return lower.parse(text)
