"""The pages of docs/rules are those of the rules."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_rule_pages_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("write_rules", ROOT / "docs/write_rules.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    written = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs/rules").glob("*.md")}
    assert written == module.pages(), "run `make docs`"
