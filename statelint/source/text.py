"""Bytes as Python reads them: their encoding, their lines, and places in them."""

from __future__ import annotations

import ast
import codecs
import functools
import re
import tokenize
from typing import Protocol

from statelint.diagnostics import Location
from statelint.model.source import SyntaxFault

_NEWLINE = re.compile(r"\r\n|\r|\n")
"""What ends a line of Python; a form feed does not, nor anything else that `str.splitlines` splits at."""


_DEF = re.compile(r"(?:async\s+)?def\s+(?=\w)")

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")


_COOKIE = re.compile(rb"\xef\xbb\xbf|(?:[^\r\n]*(?:\r\n|\r|\n))?[^\r\n]*coding")
"""What may say that a file is not plain UTF-8: a byte order mark, or a coding cookie in its first two lines."""


class Spot(Protocol):
    """A node of `ast`, as far as places are concerned."""

    lineno: int
    col_offset: int
    end_lineno: int | None
    end_col_offset: int | None


class Text:
    """The text of a file, by lines.

    Args:
        path: as the user gave it, for locations.
        content: decoded, without a byte order mark.
        encoding: by which it was decoded.
    """

    def __init__(self, path: str, content: str, encoding: str = "utf-8") -> None:
        self.path = path
        self.content = content
        self.encoding = encoding

    @functools.cached_property
    def lines(self) -> list[str]:
        """Without what ends them."""
        return _NEWLINE.split(self.content)

    def forget(self) -> None:
        """Let go of the lines, which take more than the text; they are split again when asked for."""
        self.__dict__.pop("lines", None)

    def at(self, node: Spot) -> Location:
        """The range of a node of `ast`, whose columns are UTF-8 bytes."""
        line, end_line = node.lineno, node.end_lineno or node.lineno
        end = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return Location(self.path, line, self._column(line, node.col_offset), end_line, self._column(end_line, end))

    def name(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Location:
        """The name of a function, where it is defined."""
        at = self.at(node)
        found = _DEF.match(self.lines[at.line - 1], at.column - 1)
        if found is None:
            return at
        return Location(self.path, at.line, found.end() + 1, at.line, found.end() + 1 + len(node.name))

    def read(self, place: Location) -> str:
        """What stands at a place, on one line."""
        end_line = place.end_line or place.line
        lines = self.lines[place.line - 1 : end_line]
        lines[-1] = lines[-1][: (place.end_column or place.column) - 1]
        lines[0] = lines[0][place.column - 1 :]
        return " ".join(" ".join(lines).split())

    def _column(self, line: int, offset: int) -> int:
        text = self.lines[line - 1]
        return offset + 1 if text.isascii() else len(text.encode()[:offset].decode(errors="ignore")) + 1


def decode(path: str, data: bytes) -> Text | SyntaxFault:
    """The text of a file, by its byte order mark, its coding cookie or as UTF-8."""
    try:
        encoding = _encoding(data)
        content = data.decode(encoding)
    except SyntaxError as error:
        return SyntaxFault(Location(path, 1), error.msg)
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = len(re.findall(rb"\r\n|\r|\n", before)) + 1
        return SyntaxFault(Location(path, line), f"not valid {_plain(error.encoding)}: byte {data[error.start]:#04x}")
    except (LookupError, ValueError) as error:
        return SyntaxFault(Location(path, 1), str(error))
    return Text(path, content, encoding)


def is_text(data: bytes) -> bool:
    """Whether it is UTF-8, without the null bytes that no Python file has."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in data


def _encoding(data: bytes) -> str:
    if _COOKIE.match(data) is None:
        return "utf-8"
    lines = (match.group() for match in _LINE.finditer(data))
    return tokenize.detect_encoding(lines.__next__)[0]


def _plain(encoding: str) -> str:
    return codecs.lookup(encoding).name
