"""Edits put into files: what a rule says to write, and the imports it needs; all else stays byte for byte."""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from statelint.diagnostics import Diagnostic, Edit, Fix, Location
from statelint.model.source import SyntaxFault
from statelint.source.imports import MODULES, Imports
from statelint.source.project import parse
from statelint.source.text import Text, decode

_MODULE = re.compile(rf"\{{({'|'.join(map(re.escape, MODULES))})\}}")
_NEWLINE = re.compile(r"\r\n|\r|\n")

_Made = tuple[Diagnostic, tuple[Edit, ...]]
"""A finding, and the edits of its fix with all modules named."""


class Patched(msgspec.Struct, frozen=True):
    """What became of a file.

    Attributes:
        data: its content.
        fixed: the findings whose fixes were made.
        refused: those whose fixes cannot be, each with the reason.
    """

    data: bytes
    fixed: tuple[Diagnostic, ...] = ()
    refused: tuple[tuple[Diagnostic, str], ...] = ()


class Refused(Exception):
    """A fix that cannot be made; the message says why."""


def patch(path: str, data: bytes, findings: Sequence[Diagnostic]) -> Patched:
    """The file with the fixes of these findings. Of fixes that overlap only the first is made: ask again."""
    document = Document.read(path, data)
    if document is None:
        return Patched(
            data, refused=tuple((finding, "the file cannot be written as it is read") for finding in findings)
        )
    made: list[_Made] = []
    taken: dict[int, list[Edit]] = defaultdict(list)
    refused: list[tuple[Diagnostic, str]] = []
    for finding in findings:
        try:
            edits = document.concrete(finding.fix) if finding.fix is not None else ()
        except Refused as error:
            refused.append((finding, str(error)))
            continue
        if not any(_meet(edit, other) for edit in edits for line in _lines(edit) for other in taken[line]):
            made.append((finding, edits))
            for edit in edits:
                for line in _lines(edit):
                    taken[line].append(edit)
    made, failed = _parsing(document, made)
    refused += ((finding, "the result would not parse") for finding in failed)
    return Patched(document.encoded(_all_edits(made)), tuple(finding for finding, _ in made), tuple(refused))


def _parsing(document: Document, made: list[_Made]) -> tuple[list[_Made], list[Diagnostic]]:
    """The fixes with which the file still parses, and the findings of those with which it does not."""
    if document.takes(_all_edits(made)):
        return made, []
    good = [each for each in made if document.takes(each[1])]
    failed = [each[0] for each in made if each not in good]
    return good if document.takes(_all_edits(good)) else good[:1], failed


def _all_edits(made: Iterable[_Made]) -> list[Edit]:
    return [edit for _, edits in made for edit in edits]


def edited(path: str, data: bytes, edits: Iterable[Edit]) -> bytes | None:
    """The file with these edits; None when it cannot have them."""
    document = Document.read(path, data)
    return document.encoded(edits) if document is not None and document.takes(edits) else None


class Editor:
    """The edits of fixes as they would be made in files, given by path and content."""

    def __init__(self, files: Iterable[tuple[str, bytes]]) -> None:
        self._files = dict(files)
        self._document = functools.cache(self._read)

    def _read(self, path: str) -> Document | None:
        return Document.read(path, self._files[path]) if path in self._files else None

    def edits(self, finding: Diagnostic) -> tuple[Edit, ...]:
        """What the fix of a finding writes; nothing where it is advice or cannot be made."""
        if finding.fix is None or not finding.fix.edits:
            return ()
        document = self._document(finding.fix.edits[0].at.path)
        try:
            return document.concrete(finding.fix) if document is not None else ()
        except Refused:
            return ()


class Document:
    """A file to be edited."""

    def __init__(self, text: Text, tree: ast.Module) -> None:
        self._text = text
        self._imports = Imports(tree)
        self._ends = list(_NEWLINE.finditer(text.content))
        self._starts = [0, *(end.end() for end in self._ends)]

    @classmethod
    def read(cls, path: str, data: bytes) -> Document | None:
        """A file; None when it is not Python, or its encoding has no one way back."""
        text = decode(path, data)
        if isinstance(text, SyntaxFault) or text.content.encode(text.encoding) != data:
            return None
        tree = parse(text)
        return None if isinstance(tree, SyntaxFault) else cls(text, tree)

    def concrete(self, fix: Fix) -> tuple[Edit, ...]:
        """The edits of a fix with its modules by the names that the file calls them, and the imports it lacks.

        Raises:
            Refused: a module can be given no name, or can be imported only after it is used.
        """
        imports: dict[str, Edit] = {}
        edits: list[Edit] = []
        for edit in fix.edits:
            text = edit.text.replace("\n", self._newline(edit.at.line))
            for module in _MODULE.findall(edit.text):
                name = self._imports.name(module, edit.at.line)
                if name is None:
                    name, imports[module] = self._imported(module, edit.at.line)
                text = text.replace(f"{{{module}}}", name)
            edits.append(Edit(edit.at, text))
        return (*(imports[module] for module in sorted(imports)), *edits)

    def _imported(self, module: str, line: int) -> tuple[str, Edit]:
        new = self._imports.new(module)
        after = self._imports.place(module)
        if new is None:
            raise Refused(f"every usual name for {module} means something else here")
        if after >= line:
            raise Refused(f"{module} cannot be imported before it is used")
        at = Location(self._text.path, after + 1, 1, after + 1, 1)
        return new[0], Edit(at, f"{new[1]}{self._newline(max(after, 1))}")

    def _newline(self, line: int) -> str:
        """What ends this line, or the last that is ended."""
        return self._ends[min(line, len(self._ends)) - 1][0] if self._ends else "\n"

    def takes(self, edits: Iterable[Edit]) -> bool:
        """The file still parses with these edits."""
        return not isinstance(parse(Text(self._text.path, self._rendered(edits))), SyntaxFault)

    def encoded(self, edits: Iterable[Edit]) -> bytes:
        """The file with these edits."""
        return self._rendered(edits).encode(self._text.encoding)

    def _rendered(self, edits: Iterable[Edit]) -> str:
        parts: list[str] = []
        done = 0
        for edit in sorted(dict.fromkeys(edits), key=_range):
            start, end = (self._starts[line - 1] + column - 1 for line, column in _range(edit))
            parts += [self._text.content[done:start], edit.text]
            done = end
        return "".join([*parts, self._text.content[done:]])


def _range(edit: Edit) -> tuple[tuple[int, int], tuple[int, int]]:
    at = edit.at
    return (at.line, at.column), (at.end_line or at.line, at.end_column or at.column)


def _lines(edit: Edit) -> range:
    (first, _), (last, _) = _range(edit)
    return range(first, last + 1)


def _meet(edit: Edit, other: Edit) -> bool:
    """They overlap, or nobody knows which comes first; the same edit twice is one."""
    (start, end), (other_start, other_end) = _range(edit), _range(other)
    return edit != other and (start == other_start or (start < other_end and other_start < end))
