"""What makes a finding known again when the lines around it have moved."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

from statelint.config import shown
from statelint.diagnostics import Diagnostic


def fingerprints(findings: Iterable[Diagnostic]) -> Iterator[str]:
    """One for each finding: of its file, its rule and what it says, and of which one it is among those alike."""
    seen: Counter[tuple[str, str, str]] = Counter()
    for finding in findings:
        what = (shown(finding.location.path), finding.code, finding.message)
        text = "\0".join((*what, str(seen[what])))
        seen[what] += 1
        yield hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
