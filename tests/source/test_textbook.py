"""The fast path says what the textbook says, at the same places."""

from __future__ import annotations

import ast
import importlib.util
import os
from pathlib import Path

import pytest

from statelint.diagnostics import Diagnostic
from statelint.source.text import Text, decode
from tests.precision.corpus import PACKAGES
from tests.source.concrete import convert
from tests.source.textbook import quickly, thoroughly
from tests.statelint_cli import ROOT

CORPUS = os.environ.get("STATELINT_CORPUS")
INSTALLED = ("chex", "optax")


def folders() -> dict[str, Path]:
    found = {name: ROOT / name for name in ("fixtures", "tests")}
    for name in INSTALLED:
        package = importlib.util.find_spec(name)
        if package is not None and package.origin is not None:
            found[name] = Path(package.origin).parent
    if CORPUS:
        found |= {name: Path(CORPUS).resolve() / folder for name, (_, folder) in PACKAGES.items()}
    return found


FOLDERS = folders()


def shown(finding: Diagnostic) -> str:
    at = finding.location
    return f"{at.path}:{at.line}:{at.column}: {finding.code} {finding.message}"


@pytest.mark.parametrize("name", FOLDERS)
def test_both_paths_say_the_same(name: str) -> None:
    files = [(str(path), path.read_bytes()) for path in sorted(FOLDERS[name].rglob("*.py"))]
    quick, thorough = quickly(files), thoroughly(files)
    assert [shown(each) for each in quick] == [shown(each) for each in thorough]
    assert quick == thorough


READABLE = [path for path in sorted((ROOT / "fixtures").rglob("*.py")) if "SL900" not in str(path)]


@pytest.mark.parametrize("path", READABLE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_textbook_reads_what_python_reads(path: Path) -> None:
    text = decode(str(path), path.read_bytes())
    assert isinstance(text, Text)
    read, wanted = convert(text.content, text.lines), ast.parse(text.content)
    assert ast.dump(_plain(read), include_attributes=True) == ast.dump(_plain(wanted), include_attributes=True)


def _plain(tree: ast.Module) -> ast.Module:
    """Without the parts of f-strings, which different Pythons place differently."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            node.values = []
    return tree
