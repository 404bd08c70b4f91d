"""What keeps a message short, whatever it is about."""

from __future__ import annotations

from collections.abc import Sequence

LISTED = 5
"""Names that a message gives one by one; of more it gives some, and counts the rest."""
BRIEF = 120
"""Characters of code, or of another program's words, that a message quotes."""


def listed(names: Sequence[str]) -> str:
    """`a, b and c`; of many `a, b, c, d and 9,996 more`."""
    if len(names) > LISTED:
        shown = names[: LISTED - 1]
        return f"{', '.join(shown)} and {len(names) - len(shown):,} more"
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def brief(text: str, limit: int = BRIEF) -> str:
    """The text, or its beginning with an ellipsis."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
