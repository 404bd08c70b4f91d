"""Write docs/rules/ from the rules' own docstrings: `make docs`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from statelint import rules
from statelint.rules import RuleModule

FOLDER = Path(__file__).with_name("rules")


def pages() -> dict[str, str]:
    """The text of every page by its file name, the index among them."""
    modules = rules.load()
    return {f"{code}.md": page(module) for code, module in modules.items()} | {"README.md": index(modules.values())}


def page(module: RuleModule) -> str:
    """The page of one rule."""
    rule = module.rule
    by = {
        "S": "the source",
        "P": "a probe's trace",
        "S P": "the source, and a probe's trace",
        "": "statelint itself",
    }[module.by]
    pedantic = "" if rule.default else " Pedantic: off unless it is selected."
    facts = f"*{rule.severity.value.capitalize()}. Seen in {by}. Since {rule.since}.{pedantic}*"
    return f"# {rule.code}: {rule.name}\n\n{facts}\n\n{module.page}\n"


def index(modules: Iterable[RuleModule]) -> str:
    """The table of all rules."""
    rows = [
        f"| [{m.rule.code}]({m.rule.code}.md) | {m.rule.name} | {m.by} | {m.rule.severity.value} | {m.summary} |"
        for m in modules
    ]
    table = ["| code | name | by | severity | what |", "|---|---|---|---|---|", *rows]
    return "\n".join(["# Rules", "", "By: S reads the source, P traces a probe.", "", *table, ""])


def main() -> None:
    """Write every page, and remove those of rules that are gone."""
    FOLDER.mkdir(exist_ok=True)
    texts = pages()
    for old in FOLDER.glob("*.md"):
        if old.name not in texts:
            old.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
