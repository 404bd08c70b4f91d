"""Which rules a code, a prefix of codes, a name or `ALL` stands for."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping

from statelint.diagnostics import Severity


def matching(selector: str, rules: Mapping[str, str]) -> frozenset[str]:
    """The codes that a code, a prefix of codes, a name or `ALL` stands for; none when it is unknown."""
    if selector == "ALL":
        return frozenset(rules)
    if selector in rules.values():
        return frozenset(code for code, name in rules.items() if name == selector)
    if re.fullmatch(r"SL\d{0,3}", selector):
        return frozenset(code for code in rules if code.startswith(selector))
    return frozenset()


def unknown_rules(selectors: Iterable[str], rules: Mapping[str, str]) -> list[str]:
    """One line for each selector that stands for no rule."""
    return [
        f"unknown rule {selector!r}{did_you_mean(selector, (*rules, *rules.values()))}"
        for selector in selectors
        if not matching(selector, rules)
    ]


def resolve(
    select: Iterable[str], ignore: Iterable[str], rules: Mapping[str, str], *, start: Iterable[str] = ()
) -> frozenset[str]:
    """The codes selected, and those to ``start`` with, that are not ignored.

    Where `select` and `ignore` both name a rule, the more specific holds, and of two alike `ignore`.
    """
    said = [(_specificity(text), order, text) for order, texts in enumerate((select, ignore)) for text in texts]
    enabled = set(start)
    for _, ignored, selector in sorted(said):
        codes = matching(selector, rules)
        enabled = enabled - codes if ignored else enabled | codes
    return frozenset(enabled)


def severities(said: Mapping[str, Severity], rules: Mapping[str, str]) -> dict[str, Severity]:
    """The severities by code; of two selectors for one rule the more specific holds."""
    ordered = sorted(said, key=_specificity)
    return {code: said[selector] for selector in ordered for code in matching(selector, rules)}


def _specificity(selector: str) -> int:
    if selector == "ALL":
        return 0
    return len(selector) if re.fullmatch(r"SL\d{0,3}", selector) else len("SL000")


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """` (did you mean ...?)`, where one of these words is close."""
    close = difflib.get_close_matches(word, list(words), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
