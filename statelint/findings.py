"""One finding for one fault: what both detectors see, and what one leaf draws, is said once."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence

import msgspec

from statelint.diagnostics import Diagnostic

WEAK = frozenset({"SL101", "SL102", "SL103"})
"""A leaf made weak: what the source sees of it."""

DRIFT = frozenset({"SL302", "SL303", "SL304"})
"""A leaf that drifts: what the probe sees of it, the dearer of the two."""


def confirmed(seen: Iterable[Diagnostic], traced: Iterable[Diagnostic]) -> list[Diagnostic]:
    """All findings, where those of the source that a probe makes too, at the same line, are one with its."""
    sources = _by_code_and_line(seen)
    probes = _by_code_and_line(traced)
    merged = [finding for key, findings in sources.items() if key not in probes for finding in findings]
    for key, findings in probes.items():
        merged += [_joined(finding, _partner(finding, sources.get(key, []))) for finding in findings]
    return merged


def _partner(finding: Diagnostic, sources: Sequence[Diagnostic]) -> Diagnostic | None:
    """What the source says of a probe's finding: the one about a field of its name, or else the first."""
    same = (source for source in sources if _last_name(source) == _last_name(finding))
    return next(itertools.chain(same, sources), None)


def _joined(probe: Diagnostic, source: Diagnostic | None) -> Diagnostic:
    if source is None:
        return probe
    return msgspec.structs.replace(
        probe, detector="both", location=source.location, fix=probe.fix or source.fix
    )


def dearest(findings: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Without the weak leaves of the source that a probe saw drift: the drift is their one finding."""
    findings = list(findings)
    drifts = {_leaf(finding) for finding in findings if _is_drift(finding)}
    weak = {_leaf(finding): finding for finding in findings if _is_weak(finding) and _leaf(finding) in drifts}
    kept = (finding for finding in findings if not (_is_weak(finding) and _leaf(finding) in drifts))
    return [_joined(finding, weak.get(_leaf(finding))) if _is_drift(finding) else finding for finding in kept]


def _is_drift(finding: Diagnostic) -> bool:
    return finding.code in DRIFT and finding.detector == "probe"


def _is_weak(finding: Diagnostic) -> bool:
    return finding.code in WEAK and finding.detector == "source" and finding.field is not None


def _leaf(finding: Diagnostic) -> tuple[str, int, str]:
    return (finding.location.path, finding.location.line, _last_name(finding))


def _last_name(finding: Diagnostic) -> str:
    names = re.findall(r"[^\W\d]\w*", finding.field or "")
    return names[-1] if names else ""


def _by_code_and_line(findings: Iterable[Diagnostic]) -> dict[tuple[str, str, int], list[Diagnostic]]:
    groups: dict[tuple[str, str, int], list[Diagnostic]] = {}
    for finding in findings:
        groups.setdefault((finding.code, finding.location.path, finding.location.line), []).append(finding)
    return groups


def distinct(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """In order of place, each once: two probes may meet one fault."""
    first = {finding.sort_key: finding for finding in reversed(list(findings))}
    return tuple(sorted(first.values(), key=_order))


def _order(finding: Diagnostic) -> tuple[str, int, int, str, str]:
    at = finding.location
    return (at.path, at.line, at.column, finding.code, finding.message)
