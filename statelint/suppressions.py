"""`# statelint: ignore[...]` and `# noqa: SL...`: comments that silence findings."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from statelint.diagnostics import Diagnostic, Edit, Location, insert_before, replace
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
        since: the line from which on it holds: its own, or the first of those that a backslash or a string of several
            lines joins to it, none of which can bear a comment.
        codes: those that it silences; None: all.
        ours: it speaks to statelint alone, so that it is at fault when it silences nothing.
    """

    at: Location
    since: int
    codes: tuple[str, ...] | None
    whole_file: bool = False
    ours: bool = True

    def covers(self, finding: Diagnostic) -> bool:
        """Whether it silences this finding of its file."""
        if finding.code == UNUSED or (self.codes is not None and finding.code not in self.codes):
            return False
        first = finding.location.line
        last = finding.location.end_line or first
        return self.whole_file or (first <= self.at.line and self.since <= last)


class Ignores:
    """The comments of one file that silence, and what they have silenced so far.

    Args:
        comments: as `read` finds them.
        rules: the names of all rules by their codes.
    """

    def __init__(self, comments: Iterable[Ignore], rules: Mapping[str, str]) -> None:
        self.comments = tuple(comments)
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


# --- reading them ---------------------------------------------------------------------------------------


def read(path: str, text: str, rules: Mapping[str, str]) -> tuple[Ignore, ...]:
    """The comments of a file that silence.

    Args:
        rules: the names of all rules by their codes.
    """
    return tuple(_read(path, text, rules)) if _MARKER.search(text) else ()


def speaks(text: str) -> bool:
    """Whether some comment may speak to statelint, so that it is at fault when it silences nothing."""
    if "statelint:" in text:
        return True
    listed = (match["codes"] for match in _NOQA.finditer(text)) if "noqa" in text.lower() else ()
    return any("SL" in codes.upper() for codes in listed if codes)


def _read(path: str, text: str, rules: Mapping[str, str]) -> Iterator[Ignore]:
    by_name = {name: code for code, name in rules.items()}
    lines = _Lines(text)
    for line, (column, comment) in lines.comments.items():
        since = lines.first_joined(line)
        for match in _OURS.finditer(comment):
            at, whole_file = _location(path, line, column, match), bool(match["file"])
            yield Ignore(at, since, _codes(match["codes"], by_name), whole_file)
        for match in _NOQA.finditer(comment):
            at, codes = _location(path, line, column, match), _codes(match["codes"], {})
            if codes is None:
                yield Ignore(at, since, None, ours=False)
            elif own := tuple(code for code in codes if _CODE.fullmatch(code)):
                yield Ignore(at, since, own)


def _codes(listed: str | None, by_name: Mapping[str, str]) -> tuple[str, ...] | None:
    """The codes of a list, where names may stand for them; None when there is no list."""
    if listed is None:
        return None
    words = dict.fromkeys(re.findall(r"[^\s,]+", listed))
    return tuple(by_name.get(word, word.upper() if _CODE.fullmatch(word.upper()) else word) for word in words)


def _location(path: str, line: int, column: int, match: re.Match[str]) -> Location:
    return Location(path, line, column + match.start(), line, column + match.end())


class _Lines:
    """The lines of a text: the comments on them, and which of them go on in the next, so that they can have none.

    Attributes:
        comments: column (from 1) and text by the line.
    """

    def __init__(self, text: str) -> None:
        self.lines = list(io.StringIO(text, newline=None))
        self.comments: dict[int, tuple[int, str]] = {}
        self._joined: set[int] = set()
        try:
            self._tokenize()
        except (tokenize.TokenError, SyntaxError):
            # What Python cannot split into tokens still has lines, and a comment in it must not lose its say.
            self._search()

    def _tokenize(self) -> None:
        starts: list[int] = []
        for token in tokenize.generate_tokens(iter([*self.lines, ""]).__next__):
            kind, first, last = tokenize.tok_name[token.type], token.start[0], token.end[0]
            if kind == "COMMENT":
                self.comments[first] = (token.start[1] + 1, token.string)
            elif kind.endswith("STRING_START"):
                starts.append(first)
            elif kind == "STRING" or kind.endswith("STRING_END"):
                self._joined.update(range(starts.pop() if starts and kind != "STRING" else first, last))
        ends = (number for number, line in enumerate(self.lines, 1) if line.rstrip("\n").endswith("\\"))
        self._joined.update(number for number in ends if number not in self.comments)

    def _search(self) -> None:
        self._joined.clear()
        for number, line in enumerate(self.lines, 1):
            start = line.find("#")
            if start >= 0:
                self.comments[number] = (start + 1, line[start:].rstrip("\n"))

    def first_joined(self, line: int) -> int:
        """The first of the lines that are joined to this one and end with it."""
        while line - 1 in self._joined:
            line -= 1
        return line

    def last_joined(self, line: int) -> int:
        """The line in which this one ends."""
        while line in self._joined:
            line += 1
        return line


# --- writing them ---------------------------------------------------------------------------------------


def added(path: str, text: str, findings: Iterable[Diagnostic]) -> tuple[Edit, ...]:
    """The comments that silence these findings of a file; those that are there already are extended."""
    lines = _Lines(text)
    codes: dict[int, dict[str, None]] = {}
    for finding in findings:
        codes.setdefault(lines.last_joined(finding.location.line), {})[finding.code] = None
    return tuple(edit for line, new in codes.items() for edit in _comment(path, lines, line, sorted(new)))


def removal(
    lines: Sequence[str], comment: Location, codes: Collection[str], rules: Mapping[str, str]
) -> tuple[Edit, ...]:
    """What takes these codes out of a comment, and the comment away when it names no other; what else the line says
    stays.
    """
    line, first, last = lines[comment.line - 1], comment.column - 1, (comment.end_column or comment.column) - 1
    match = _OURS.fullmatch(line, first, last) or _NOQA.fullmatch(line, first, last)
    words = re.findall(r"[^\s,]+", match["codes"] or "") if match is not None else []
    by_name = {name: code for code, name in rules.items()}
    kept = [word for word in words if not set(_codes(word, by_name) or ()) <= set(codes)]
    start, end, text = first, last, ""
    if kept and match is not None:
        (start, end), text = match.span("codes"), ", ".join(kept)
    elif rest := line[last:].strip():
        end, text = len(line), rest if rest.startswith("#") else f"# {rest}"
    elif before := line[:first].rstrip():
        start, end = len(before), len(line)
    elif comment.line > 1:
        above = comment.line - 1
        return replace(Location(comment.path, above, len(lines[above - 1]) + 1, comment.line, len(line) + 1), "")
    elif len(lines) > 1:
        return replace(Location(comment.path, 1, 1, 2, 1), "")
    return replace(Location(comment.path, comment.line, start + 1, comment.line, end + 1), text)


def _comment(path: str, lines: _Lines, line: int, codes: Sequence[str]) -> tuple[Edit, ...]:
    text = lines.lines[line - 1].rstrip("\n")
    column, comment = lines.comments.get(line, (0, ""))
    old = next((match for match in _OURS.finditer(comment) if match["codes"] is not None and not match["file"]), None)
    if old is not None:
        end = column + old.end("codes")
        joint = ", " if old["codes"].strip() else ""
        return insert_before(Location(path, line, end), f"{joint}{', '.join(codes)}")
    end = len(text.rstrip()) + 1
    return insert_before(Location(path, line, end), f"  # statelint: ignore[{', '.join(codes)}]")
