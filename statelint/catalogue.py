"""What `statelint rule` prints: the rules as a table or as JSON, and the page of one."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterable
from typing import Any

from statelint import selectors
from statelint.options import UsageError
from statelint.rules import RuleModule, load


def named(name: str) -> list[RuleModule]:
    """The rules of a code, a prefix of codes or a name.

    Raises:
        UsageError: there is none.
    """
    names = {code: module.rule.name for code, module in load().items()}
    codes = selectors.matching(name.upper(), names) or selectors.matching(name.lower(), names)
    if not codes:
        raise UsageError(selectors.unknown_rules([name], names))
    return [module for code, module in load().items() if code in codes]


def as_json(modules: Iterable[RuleModule]) -> str:
    """A JSON array of rules with their pages."""
    return json.dumps([_as_json(module) for module in modules], indent=2) + "\n"


def _as_json(module: RuleModule) -> dict[str, Any]:
    return {
        "code": module.rule.code,
        "name": module.rule.name,
        "severity": module.rule.severity.value,
        "by": module.by,
        "default": module.rule.default,
        "since": module.rule.since,
        "summary": module.summary,
        "page": module.page,
    }


def table(modules: Iterable[RuleModule]) -> str:
    """A line for each rule."""
    rows = [("code", "name", "by", "severity", "summary")]
    for module in modules:
        summary = module.summary if module.rule.default else f"(pedantic) {module.summary}"
        rows.append((module.rule.code, module.rule.name, module.by, module.rule.severity.value, summary))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    note = "by: S reads the source, P traces a probe. (pedantic): off unless selected."
    return "".join(f"{line}\n" for line in [*lines, "", note])


def page(module: RuleModule, *, colour: bool) -> str:
    """The page of a rule, laid out for a terminal or as it is written."""
    text = f"# {module.rule.code}: {module.rule.name}\n\n{module.page}\n"
    if not colour:
        return text
    from rich.console import Console
    from rich.markdown import Markdown

    screen = Console(file=io.StringIO(), force_terminal=True, width=min(shutil.get_terminal_size().columns, 100))
    with screen.capture() as captured:
        screen.print(Markdown(text))
    return captured.get()
