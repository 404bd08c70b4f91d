"""The source side as a textbook has it: every file parsed whole by LibCST, and every rule run on all of it.

Nothing is passed by because of the words in a file, and no statement or function because of what it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst
import pytest

from statelint import rules
from statelint.files import place
from statelint.model.names import Names
from statelint.model.source import SyntaxFault
from statelint.source import callsites, plain, reader, registrations, restores, turns
from statelint.source.project import Project, Reading, parse
from statelint.source.prospects import Prospects
from statelint.source.text import decode
from statelint.source.walking import walk
from tests.source.concrete import convert

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterator, Sequence

    from statelint.diagnostics import Diagnostic
    from statelint.source.outline import Outline
    from statelint.source.text import Text

File = tuple[str, bytes]


def quickly(files: list[File]) -> list[Diagnostic]:
    """What the rules say of the files, in the order of their places."""
    return _judged(Project(Names()), files)


def thoroughly(files: list[File]) -> list[Diagnostic]:
    """The same, by the textbook."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prospects, "is_worth", lambda *_: True)
        return _judged(_Textbook(Names()), files)


def _judged(project: Project, files: list[File]) -> list[Diagnostic]:
    found = (each for reading in project.read(files) for each in rules.in_source(reading.parts))
    return sorted(found, key=lambda finding: finding.sort_key)


class _Textbook(Project):
    def read(self, files: Sequence[File]) -> Iterator[Reading]:
        self._give(files)
        self._awaited = {place(path) for path, _ in files}
        for path, data in files:
            text = decode(path, data)
            found = text if isinstance(text, SyntaxFault) else self._drawn(place(path), text, whole=True)
            parts = (found,) if isinstance(found, SyntaxFault) else tuple(self._parts(found))
            yield Reading(path, None, parts)

    def _tree(self, text: Text) -> ast.Module | SyntaxFault:
        try:
            return convert(text.content, text.lines)
        except (cst.ParserSyntaxError, RecursionError):
            return parse(text)  # the fault is the same; this alone is not the textbook's to find

    def _parts(self, outline: Outline) -> Iterator[object]:
        everything = set(walk(outline.body))
        yield from self.index.classes(outline)
        yield from reader.read(outline, self.index, everything)
        yield from registrations.read(outline, self.index)
        yield from plain.read(outline, self.index)
        yield from restores.read(outline, self.names)
        yield from turns.read(outline, self.index)
        yield from callsites.read(outline, self.names)
