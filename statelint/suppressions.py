"""`# statelint: ignore[...]` and `# noqa: SL...`: comments that silence findings."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterator, Mapping

import msgspec

from statelint.diagnostics import Diagnostic, Location
from statelint.model.source import UnusedIgnore

_MARKER = re.compile(r"statelint:|noqa", re.IGNORECASE)
_OURS = re.compile(r"#\s*statelint:\s*ignore(?P<file>-file)?(?![\w-])\s*(\[(?P<codes>[^\]]*)\]?)?")
_NOQA = re.compile(r"#\s*noqa(?![\w-])(\s*:\s*(?P<codes>[A-Z]+\d+([\s,]+[A-Z]+\d+)*))?", re.IGNORECASE)
_CODE = re.compile(r"SL\d{3}")

UNUSED = "SL901"
"""The rule about these comments; a comment does not silence it."""


class Ignore(msgspec.Struct, frozen=True):
    """One comment that silences.

    Attributes:
        codes: those that it silences; None: all.
        ours: it speaks to statelint alone, so that it is at fault when it silences nothing.
    """

    at: Location
    codes: tuple[str, ...] | None
    whole_file: bool = False
    ours: bool = True

    def covers(self, finding: Diagnostic) -> bool:
        """Whether it silences this finding of its file."""
        if finding.code == UNUSED or (self.codes is not None and finding.code not in self.codes):
            return False
        first = finding.location.line
        return self.whole_file or first <= self.at.line <= (finding.location.end_line or first)


class Ignores:
    """The comments of one file that silence, and what they have silenced so far.

    Args:
        rules: the names of all rules by their codes.
    """

    def __init__(self, path: str, text: str, rules: Mapping[str, str]) -> None:
        self.comments = tuple(_read(path, text, rules)) if _MARKER.search(text) else ()
        self._rules = rules
        self._used: set[tuple[Ignore, str]] = set()

    def silence(self, finding: Diagnostic) -> bool:
        """Whether a comment silences this finding, which is then counted as used."""
        covering = [comment for comment in self.comments if comment.covers(finding)]
        self._used.update((comment, finding.code) for comment in covering)
        return bool(covering)

    def unused(self, judged: Collection[str], *, complete: bool) -> Iterator[UnusedIgnore]:
        """The comments that silenced nothing, once all findings of the file have been put to `silence`.

        Args:
            judged: the codes that this run could have found in the file.
            complete: all that runs by default did run, so that a comment for all codes can be judged.
        """
        off = (comment for comment in self.comments if comment.whole_file and comment.codes is None)
        if any(map(self._has_used, off)):
            return
        for comment in self.comments:
            if not comment.ours:
                continue
            if not comment.codes:
                if complete and not self._has_used(comment):
                    yield UnusedIgnore(comment.at, ())
                continue
            idle = tuple(code for code in comment.codes if self._is_idle(comment, code, judged))
            if idle:
                yield UnusedIgnore(comment.at, idle)

    def _has_used(self, comment: Ignore) -> bool:
        return any(user == comment for user, _ in self._used)

    def _is_idle(self, comment: Ignore, code: str, judged: Collection[str]) -> bool:
        return (comment, code) not in self._used and (code in judged or code not in self._rules)


def _read(path: str, text: str, rules: Mapping[str, str]) -> Iterator[Ignore]:
    by_name = {name: code for code, name in rules.items()}
    for line, column, comment in _comments(text):
        for match in _OURS.finditer(comment):
            at, whole_file = _location(path, line, column, match), bool(match["file"])
            yield Ignore(at, _codes(match["codes"], by_name), whole_file)
        for match in _NOQA.finditer(comment):
            at, codes = _location(path, line, column, match), _codes(match["codes"], {})
            if codes is None:
                yield Ignore(at, None, ours=False)
            elif own := tuple(code for code in codes if _CODE.fullmatch(code)):
                yield Ignore(at, own)


def _codes(listed: str | None, by_name: Mapping[str, str]) -> tuple[str, ...] | None:
    """The codes of a list, where names may stand for them; None when there is no list."""
    if listed is None:
        return None
    words = dict.fromkeys(re.findall(r"[^\s,]+", listed))
    return tuple(by_name.get(word, word.upper() if _CODE.fullmatch(word.upper()) else word) for word in words)


def _location(path: str, line: int, column: int, match: re.Match[str]) -> Location:
    return Location(path, line, column + match.start(), line, column + match.end())


def _comments(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, column (both from 1) and text of every comment."""
    found: list[tuple[int, int, str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text, newline=None).readline):
            if token.type == tokenize.COMMENT:
                found.append((token.start[0], token.start[1] + 1, token.string))
    except (tokenize.TokenError, SyntaxError):
        # What Python cannot split into tokens still has lines, and a comment in it must not lose its say.
        return _comments_by_line(text)
    return iter(found)


def _comments_by_line(text: str) -> Iterator[tuple[int, int, str]]:
    for number, line in enumerate(io.StringIO(text, newline=None), 1):
        start = line.find("#")
        if start >= 0:
            yield number, start + 1, line[start:].rstrip("\n")
