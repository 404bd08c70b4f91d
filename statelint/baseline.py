"""The baseline: how many findings of each rule are put up with in each file, so that only new ones are shown."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from statelint import files
from statelint.config import Config, ConfigError, shown
from statelint.diagnostics import Diagnostic

VERSION = 1
NAME = ".statelint-baseline.json"
"""The file that is written where the configuration names none."""

NOT_CHECKED = frozenset({"SL900", "SL902"})
"""The rules that say that something was not checked, which is never put up with."""

Key = tuple[str, str]
"""A file, relative to the baseline's folder and with slashes, and a code."""

Judged = Callable[[str, str], bool]
"""Whether a run would have found what there is of a code in a file."""


class Baseline(msgspec.Struct, frozen=True):
    """The counts of a file; an empty one hides nothing.

    Attributes:
        file: where it stands.
    """

    file: str
    counts: dict[Key, int] = {}

    def key(self, path: str, code: str) -> Key:
        """The entry for the findings of a code in a file."""
        relative = os.path.relpath(os.path.realpath(path), os.path.realpath(os.path.dirname(self.file)))
        return relative.replace(os.sep, "/"), code

    def _path(self, key: Key) -> str:
        return os.path.join(os.path.dirname(self.file), *key[0].split("/"))

    def found(self, findings: Iterable[Diagnostic]) -> Counter[Key]:
        """The findings, and what a run without probes shows in their place, by their entries; what was not checked has
        none.
        """
        every = (each for finding in findings for each in (finding, *finding.parts))
        counted = (finding for finding in every if finding.code not in NOT_CHECKED)
        return Counter(self.key(finding.location.path, finding.code) for finding in counted)

    def beyond(self, findings: Iterable[Diagnostic]) -> list[Diagnostic]:
        """The findings to show: where there are more than are put up with, all of that file and rule."""
        findings = list(findings)
        few = {key for key, number in self.found(findings).items() if number <= self.counts.get(key, 0)}
        return [finding for finding in findings if self.key(finding.location.path, finding.code) not in few]

    def stale(self, findings: Iterable[Diagnostic], judged: Judged) -> int:
        """How many that are put up with are there no longer."""
        found = self.found(findings)
        return sum(
            max(number - found[key], 0)
            for key, number in self.counts.items()
            if not os.path.exists(self._path(key)) or judged(self._path(key), key[1])
        )

    def renewed(self, findings: Iterable[Diagnostic], judged: Judged) -> Baseline:
        """The baseline of today's findings; what this run did not judge stays as it is."""
        counts = self.found(findings)
        for key, number in self.counts.items():
            if os.path.exists(self._path(key)) and not judged(self._path(key), key[1]):
                counts[key] = max(number, counts[key])
        return Baseline(self.file, dict(sorted(counts.items())))

    def write(self) -> None:
        """Write the file.

        Raises:
            OSError: it cannot be written.
        """
        table: dict[str, dict[str, int]] = {}
        for (path, code), number in self.counts.items():
            table.setdefault(path, {})[code] = number
        text = json.dumps({"version": VERSION, "findings": table}, indent=2)
        files.write(self.file, f"{text}\n".encode())


def path(config: Config) -> str:
    """The file of the baseline, be it there or not."""
    return os.path.join(config.root, config.baseline or NAME)


def load(config: Config, *, renew: bool = False) -> Baseline:
    """The baseline that the configuration names; an empty one where it names none.

    Args:
        renew: it is about to be written, and need not be there yet.

    Raises:
        ConfigError: it cannot be read or is malformed.
    """
    file = path(config)
    if (config.baseline is None and not renew) or (renew and not os.path.exists(file)):
        return Baseline(file)
    try:
        with open(file, "rb") as stream:
            document = json.loads(stream.read())
    except OSError as error:
        raise ConfigError([f"{shown(file)}: cannot be read: {error.strerror}"]) from None
    except (ValueError, RecursionError) as error:
        raise ConfigError([f"{shown(file)}: is not valid JSON: {error}"]) from None
    wrong = list(_wrong(document))
    if wrong:
        raise ConfigError(f"{shown(file)}: {line}" for line in wrong)
    table: Mapping[str, Mapping[str, int]] = document["findings"]
    return Baseline(file, {(path, code): number for path, codes in table.items() for code, number in codes.items()})


def _wrong(document: Any) -> Iterable[str]:
    """What is wrong with a baseline as read: one line each."""
    if not isinstance(document, dict) or not isinstance(document.get("findings"), dict):
        yield "is no baseline: expected an object with findings"
    elif document.get("version") != VERSION:
        yield f"version: expected {VERSION}, got {document.get('version')!r}"
    else:
        for path, codes in document["findings"].items():
            if not isinstance(codes, dict):
                yield f"findings: {path}: expected an object of counts by rule"
                continue
            for code, number in codes.items():
                if type(number) is not int or number < 1:
                    yield f"findings: {path}: {code}: expected a number from 1, got {number!r}"
