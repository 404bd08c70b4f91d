"""One finding for one fault: what both detectors see, and what one leaf draws, is said once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from statelint.diagnostics import Diagnostic, Fix, Related
from statelint.model.paths import last_name, names
from statelint.model.trace import LeafTrace

WEAK = frozenset({"SL101", "SL102", "SL103"})
"""A leaf made weak: what the source sees of it."""

DEARER = {"SL202": frozenset({"SL201"}), **dict.fromkeys(["SL302", "SL303", "SL304", *WEAK], WEAK)}
"""What a probe says of a leaf or static field, and what the source may say of the very same: the cheaper finding is
part of the dearer one, and of how a leaf came to be weak the probe knows best.
"""


ELSEWHERE = frozenset({"SL105", "SL205", "SL305"})
"""Faults of a field that the detectors stand at different lines for: where it is made, and where it is used."""

SHARED = "SL401"
"""Two leaves in one buffer: what the source sees of it."""


def unrefuted(seen: Iterable[Diagnostic], leaves: Iterable[LeafTrace]) -> list[Diagnostic]:
    """What the source says, but for that which probes show to be false of the very leaves that it is about.

    The source does not see all that happens to a value; of what no probe saw, it has the last word.

    Args:
        leaves: those of all probes, with their paths as findings give them.
    """
    placed: dict[tuple[str, int], list[LeafTrace]] = {}
    for leaf in leaves:
        if leaf.placed is not None:
            placed.setdefault((leaf.placed.path, leaf.placed.line), []).append(leaf)
    return [finding for finding in seen if not _refuted(finding, placed.get(_line(finding), ()))]


def _refuted(finding: Diagnostic, leaves: Iterable[LeafTrace]) -> bool:
    """Whether these leaves, placed at its line, show that a finding of the source is false."""
    name = _last_name(finding)
    if finding.code in WEAK:
        named = [leaf for leaf in leaves if leaf.name == name]
        return bool(named) and all(leaf.aval is not None and not leaf.aval.weak for leaf in named)
    if finding.code == SHARED:
        below = [leaf for leaf in leaves if name and name in names(leaf.path)]
        return bool(below) and all(leaf.shares is None or leaf.clashes is False for leaf in below)
    return False


def confirmed(seen: Iterable[Diagnostic], traced: Iterable[Diagnostic]) -> list[Diagnostic]:
    """All findings, where those of the source that a probe makes too, at the same line, are one with its."""
    sources = _by_code_and_line(seen)
    probes = _by_code_and_line(traced)
    merged = [finding for key, found in sources.items() if key not in probes for finding in found]
    for key, found in probes.items():
        merged += [_joined(finding, _partner(finding, sources.get(key, ()))) for finding in found]
    return _met_elsewhere(merged)


def _met_elsewhere(findings: list[Diagnostic]) -> list[Diagnostic]:
    """All findings, where the two that the detectors make of one fault at different lines of a file are one."""
    groups: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for finding in findings:
        if finding.code in ELSEWHERE and _last_name(finding):
            groups.setdefault((finding.code, finding.location.path, _last_name(finding)), []).append(finding)
    twins: dict[int, Diagnostic | None] = {}
    for group in groups.values():
        if sorted(finding.detector for finding in group) == ["probe", "source"]:
            source, probe = sorted(group, key=lambda finding: finding.detector, reverse=True)
            joined = _joined(msgspec.structs.replace(probe, location=source.location), source)
            twins |= {id(source): None, id(probe): joined}
    kept = (twins.get(id(finding), finding) for finding in findings)
    return [finding for finding in kept if finding is not None]


def dearest(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """One finding for one leaf: without those of the source that are part of a dearer one of a probe."""
    findings = list(findings)
    sources: dict[tuple[str, int], list[Diagnostic]] = defaultdict(list)
    for finding in findings:
        if finding.detector == "source":
            sources[_line(finding)].append(finding)
    kept: list[Diagnostic] = []
    absorbed: set[int] = set()
    for finding in findings:
        lines = {_line(finding): None, **{_line(other): None for other in finding.related}}
        cheaper = [source for line in lines for source in sources.get(line, ()) if _is_part(source, finding)]
        absorbed.update(map(id, cheaper))
        joined = _joined(finding, cheaper[0] if cheaper else None)
        kept.append(msgspec.structs.replace(joined, parts=(*joined.parts, *cheaper)))
    return [finding for finding, before in zip(kept, findings, strict=True) if id(before) not in absorbed]


def distinct(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """In order of place, each once: two probes may meet one fault, which then has the related places of both."""
    once: dict[tuple[object, ...], Diagnostic] = {}
    for finding in findings:
        first = once.setdefault(finding.sort_key, finding)
        related = tuple(dict.fromkeys((*first.related, *finding.related)))
        once[finding.sort_key] = msgspec.structs.replace(first, related=related)
    return tuple(sorted(once.values(), key=_order))


def _is_part(source: Diagnostic, probe: Diagnostic) -> bool:
    """Whether a finding of the source, at one of the places of a dearer one, is about the leaf of that: by its name."""
    if probe.detector != "probe" or source.code not in DEARER.get(probe.code, ()) or source.field is None:
        return False
    return _last_name(source) == _last_name(probe)


def _partner(finding: Diagnostic, sources: Sequence[Diagnostic]) -> Diagnostic | None:
    """What the source says of a probe's finding: the one about a field of its name, or else the first."""
    same = [source for source in sources if _last_name(source) == _last_name(finding)]
    return next(iter([*same, *sources]), None)


def _joined(probe: Diagnostic, source: Diagnostic | None) -> Diagnostic:
    if source is None:
        return probe
    # The source knows where on the line the expression begins and ends.
    is_one_line = (source.location.path, source.location.line) == (probe.location.path, probe.location.line)
    location = source.location if is_one_line else probe.location
    return msgspec.structs.replace(probe, detector="both", location=location, fix=_better(probe.fix, source.fix))


def _better(probe: Fix | None, source: Fix | None) -> Fix | None:
    """The fix that can be made, else the probe's advice."""
    return source if source is not None and (source.edits or probe is None) else probe


def _last_name(finding: Diagnostic) -> str:
    return last_name(finding.field or "")


def _line(said: Diagnostic | Related) -> tuple[str, int]:
    return (said.location.path, said.location.line)


def _by_code_and_line(findings: Iterable[Diagnostic]) -> dict[tuple[str, str, int], list[Diagnostic]]:
    groups: dict[tuple[str, str, int], list[Diagnostic]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.location.path, finding.location.line), []).append(finding)
    return groups


def _order(finding: Diagnostic) -> tuple[str, int, int, str, str]:
    at = finding.location
    return (at.path, at.line, at.column, finding.code, finding.message)
