"""What statelint writes into the user's files when it is asked to: fixes, and comments that silence."""

from __future__ import annotations

import difflib
import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from statelint import baseline, files, fixing, inputs, linter, rules, suppressions
from statelint.config import Config
from statelint.diagnostics import Diagnostic
from statelint.options import Options, UsageError
from statelint.progress import SILENT, Progress
from statelint.report import Report
from statelint.source.text import Text, decode

ROUNDS = 20
"""Fixes that stand in each other's way are made in turn, this many times at most."""


TO_MEND = baseline.NOT_CHECKED | {suppressions.UNUSED}
"""Rules that are no matter of taste: what was not checked, and comments that are not needed."""


class Change(msgspec.Struct, frozen=True):
    """A file before and after."""

    path: str
    before: bytes
    after: bytes

    def diff(self) -> Iterator[str]:
        """The unified diff; lines end as they do in the file."""
        before, after = (_lines(self.path, data) for data in (self.before, self.after))
        for line in difflib.unified_diff(before, after, self.path, self.path):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


class Changes(msgspec.Struct, frozen=True):
    """Files to be written.

    Attributes:
        settled: the findings that these changes settle.
        refused: those that they cannot, each with the reason.
        uncovered: how many of those settled were not to be seen until others were.
    """

    files: tuple[Change, ...]
    settled: tuple[Diagnostic, ...] = ()
    refused: tuple[tuple[Diagnostic, str], ...] = ()
    uncovered: int = 0

    def write(self) -> None:
        """Write all files, each whole or not at all.

        Raises:
            UsageError: some cannot be written; the others are.
        """
        errors: list[str] = []
        for change in self.files:
            try:
                files.write(change.path, change.after)
            except OSError as error:
                errors.append(f"{change.path}: cannot be written: {error.strerror}")
        if errors:
            raise UsageError(errors)


def _lines(path: str, data: bytes) -> list[str]:
    text = decode(path, data)
    content = text.content if isinstance(text, Text) else ""
    return list(io.StringIO(content, newline="\n"))


def fix(
    paths: Sequence[str], config: Config, options: Options, *, unsafe: bool, progress: Progress = SILENT
) -> Changes:
    """The fixes of what the source shows, of the safe kind or of both, until none is left to make."""
    before = dict(inputs.read_files(paths, config, options.buffer).read)
    after = dict(before)
    fixed: list[Diagnostic] = []
    seen: Counter[tuple[str, ...]] | None = None
    refused: dict[str, tuple[tuple[Diagnostic, str], ...]] = {}
    pending = list(before)
    for _ in range(ROUNDS):
        found = linter.source_findings([(path, after[path]) for path in pending], config, options, progress)
        read, pending = pending, []
        groups = _by_file(found, unsafe=unsafe)
        if seen is None:
            seen = _alike(each for findings in groups.values() for each in findings)
        for path, findings in groups.items():
            if path not in after:
                continue
            patched = fixing.patch(path, after[path], findings)
            fixed += patched.fixed
            refused[path] = patched.refused
            if patched.fixed:
                after[path] = patched.data
                pending.append(path)
        if not pending and len(read) == len(after):
            break
        # What is fixed in one file may tell of another that builds its classes: all are read once more at the end.
        pending = pending or list(after)
    return Changes(
        _changed(before, after),
        settled=tuple(fixed),
        refused=tuple(each for found in refused.values() for each in found),
        uncovered=(_alike(fixed) - (seen or Counter())).total(),
    )


def _alike(findings: Iterable[Diagnostic]) -> Counter[tuple[str, ...]]:
    """How many there are of each, wherever other fixes may have moved them."""
    return Counter((finding.location.path, finding.code, finding.message) for finding in findings)


def _by_file(findings: Iterable[Diagnostic], *, unsafe: bool) -> dict[str, list[Diagnostic]]:
    """Those that can be fixed, by the file in which that is."""
    groups: dict[str, list[Diagnostic]] = defaultdict(list)
    for finding in findings:
        if finding.fix is not None and finding.fix.edits and (finding.fix.safe or unsafe):
            groups[finding.fix.edits[0].at.path].append(finding)
    return groups


def ignore(paths: Sequence[str], config: Config, report: Report) -> Changes:
    """Comments that silence the findings of a report, in the files that it is about."""
    before = dict(inputs.read_files(paths, config).read)
    after = dict(before)
    settled: list[Diagnostic] = []
    refused: list[tuple[Diagnostic, str]] = []
    groups: dict[str, list[Diagnostic]] = defaultdict(list)
    for finding in report.diagnostics:
        # With or without probes, the next run is to be clean.
        for each in (finding, *finding.parts):
            groups[each.location.path].append(each)
    for path, findings in groups.items():
        data = before.get(path)
        silenced = _silenced(path, data, findings) if data is not None else None
        after[path] = silenced if silenced is not None else after.get(path, b"")
        loud = _loud(path, after[path], findings)
        settled += (finding for finding in findings if finding not in loud and finding in report.diagnostics)
        refused += ((finding, _reason(finding)) for finding in loud)
    return Changes(_changed(before, after), tuple(settled), tuple(refused))


def _reason(finding: Diagnostic) -> str:
    return "it is to be mended" if finding.code in TO_MEND else "no comment can silence it there"


def _silenced(path: str, data: bytes, findings: Iterable[Diagnostic]) -> bytes | None:
    text = decode(path, data)
    can = [finding for finding in findings if finding.code not in TO_MEND]
    edits = suppressions.added(path, text.content, can) if isinstance(text, Text) else ()
    return fixing.edited(path, data, edits)


def _loud(path: str, data: bytes, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    text = decode(path, data)
    content = text.content if isinstance(text, Text) else ""
    names = rules.names()
    comments = suppressions.Ignores(suppressions.read(path, content, names), names)
    return [finding for finding in findings if not comments.silence(finding)]


def _changed(before: dict[str, bytes], after: dict[str, bytes]) -> tuple[Change, ...]:
    return tuple(Change(path, data, after[path]) for path, data in before.items() if after[path] != data)
