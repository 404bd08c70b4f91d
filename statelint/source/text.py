"""Bytes as Python reads them: their encoding, their lines, and places in them."""

from __future__ import annotations

import codecs
import re
import tokenize
from typing import Protocol

from statelint.diagnostics import Location
from statelint.model.source import SyntaxFault

_NEWLINE = re.compile(r"\r\n|\r|\n")
"""What ends a line of Python; a form feed does not, nor anything else that `str.splitlines` splits at."""


_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")


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
        self.lines = _NEWLINE.split(content)

    def segment(self, first: int, last: int) -> str:
        """Lines first to last, counted from 1, each ended by one newline character."""
        return "".join(f"{line}\n" for line in self.lines[first - 1 : last])

    def at(self, node: Spot) -> Location:
        """The range of a node of `ast`, whose columns are UTF-8 bytes."""
        line, end_line = node.lineno, node.end_lineno or node.lineno
        end = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return Location(self.path, line, self._column(line, node.col_offset), end_line, self._column(end_line, end))

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
        lines = (match.group() for match in _LINE.finditer(data))
        encoding, _ = tokenize.detect_encoding(lines.__next__)
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


def _plain(encoding: str) -> str:
    return codecs.lookup(encoding).name
