"""The blocks of code on a page of the documentation."""

from __future__ import annotations

import re

from tests.statelint_cli import ROOT


def blocks(page: str, language: str) -> dict[str, str]:
    """Those in a language, by the heading that each stands under; one heading has one of them."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading = section.partition("\n")[0]
        for code in re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE):
            assert heading not in found
            found[heading] = code
    return found


def links(page: str) -> list[str]:
    """The files that a page leads to."""
    return re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / "docs" / page).read_text(encoding="utf-8"))
