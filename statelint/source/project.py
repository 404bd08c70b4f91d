"""Files to the model: each is decoded, outlined, and read as far as a rule can fire in it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from statelint.diagnostics import Location
from statelint.model.names import Names
from statelint.model.source import SyntaxFault
from statelint.model.trace import ProbeSite
from statelint.source import callsites, plain, registrations, restores, turns
from statelint.source.drawing import draw
from statelint.source.index import Index, home
from statelint.source.outline import TOO_DEEP, Outline, Statement
from statelint.source.text import Text, decode
from statelint.source.words import builds_state, mentions_jax


class Reading(msgspec.Struct, frozen=True):
    """What one file says.

    Attributes:
        text: decoded; None when it cannot be.
        parts: what rules look at.
        probes: declared in it.
    """

    path: str
    text: str | None
    parts: tuple[object, ...] = ()
    probes: tuple[ProbeSite, ...] = ()


class Project:
    """The files that are read together; a class defined in one is known where another builds it.

    Args:
        names: what is called a state and what a counter.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self.index = Index(names, self._outline)
        self._given: dict[Path, tuple[str, bytes]] = {}
        self._outlines: dict[Path, Outline | SyntaxFault] = {}

    def read(self, files: Sequence[tuple[str, bytes]]) -> Iterator[Reading]:
        """Read these files, given by path and content, one by one."""
        self._given.update((Path(path).absolute(), (path, data)) for path, data in files)
        for path, data in files:
            yield self._read(path, data)

    def _read(self, path: str, data: bytes) -> Reading:
        text = decode(path, data)
        if isinstance(text, SyntaxFault):
            return Reading(path, None, (text,))
        jax = mentions_jax(data)
        if not jax and not builds_state(data):
            tree = parse(text)
            return Reading(path, text.content, (tree,) if isinstance(tree, SyntaxFault) else ())
        outline = self._drawn(Path(path).absolute(), text)
        if isinstance(outline, SyntaxFault):
            return Reading(path, text.content, (outline,))
        if not jax and not any(self._builds_any(outline, statement) for statement in outline.statements):
            return Reading(path, text.content)
        try:
            parts = (*self.index.classes(outline), *self._statements(outline), *self._beyond(outline))
        except RecursionError:
            parts = (SyntaxFault(Location(path, 1), TOO_DEEP),)
        outline.forget()
        return Reading(path, text.content, parts, tuple(outline.probes))

    def _statements(self, outline: Outline) -> Iterator[object]:
        telling = [statement for statement in outline.statements if self._tells(outline, statement)]
        for statement in telling:
            if statement.too_deep:
                yield SyntaxFault(Location(outline.text.path, statement.first), TOO_DEEP)
        readable = [statement for statement in telling if not statement.too_deep]
        if readable:
            from statelint.source import reader

            yield from reader.read(outline, self.index, readable)

    def _beyond(self, outline: Outline) -> Iterator[object]:
        """What the outline shows besides classes and values."""
        yield from registrations.read(outline, self.index)
        yield from plain.read(outline, self.index)
        yield from restores.read(outline, self.names)
        if outline.steps:
            yield from turns.read(outline, self.index)
        yield from callsites.read(outline, self.names)

    def _tells(self, outline: Outline, statement: Statement) -> bool:
        """A state is built in it, or a step changes one."""
        return statement.read or self._builds_any(outline, statement)

    def _builds_any(self, outline: Outline, statement: Statement) -> bool:
        return any(self._builds(outline, name, scope) for scope, name in statement.calls)

    def _builds(self, outline: Outline, name: str, scope: str) -> bool:
        if name == "cls":
            return True
        known = self.index.known(outline, name, scope)
        if known is None and name.endswith(".create"):
            known = self.index.known(outline, name.removesuffix(".create"), scope)
        return known is not None

    # Outlines, of the given files and of those that they import.

    def _outline(self, path: Path) -> Outline | None:
        if path not in self._outlines:
            text = self._content(path)
            if text is None:
                return None
            self._drawn(path, text)
        found = self._outlines[path]
        return found if isinstance(found, Outline) else None

    def _content(self, path: Path) -> Text | None:
        if path in self._given:
            text = decode(*self._given[path])
        else:
            try:
                text = decode(str(path), path.read_bytes())
            except OSError:
                return None
        return text if isinstance(text, Text) else None

    def _drawn(self, path: Path, text: Text) -> Outline | SyntaxFault:
        if path not in self._outlines:
            self._outlines[path] = self._draw(path, text)
        return self._outlines[path]

    def _draw(self, path: Path, text: Text) -> Outline | SyntaxFault:
        tree = parse(text)
        if isinstance(tree, SyntaxFault):
            return tree
        at = home(path)
        try:
            return draw(text, tree, at.module, self.names, is_package=at.is_package)
        except RecursionError:
            return SyntaxFault(Location(text.path, 1), TOO_DEEP)


def parse(text: Text) -> ast.Module | SyntaxFault:
    """The tree of a file, newer than the running Python or not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
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
