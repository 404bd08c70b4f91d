"""Patterns as in .gitignore."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


def spec(lines: Iterable[str]) -> GitIgnoreSpec:
    """Which paths these patterns match.

    Raises:
        ValueError, re.error: one of them makes no sense.
    """
    from pathspec import GitIgnoreSpec  # much to import, where files are given by name

    return GitIgnoreSpec.from_lines(lines)


def is_pattern(line: str) -> bool:
    """Whether it makes sense."""
    try:
        spec([line])
    except (ValueError, re.error):
        return False
    return True
