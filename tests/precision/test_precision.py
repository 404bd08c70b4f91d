"""What the source rules say of released packages is what the record says, and hardly any of it is false.

The packages that are installed here are always read. `STATELINT_CORPUS` names a folder that
`tests/precision/corpus.py` has filled; then all of them are.
"""

from __future__ import annotations

import importlib.metadata
import os
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from statelint import rules
from statelint.model.names import Names
from statelint.source.project import Project
from tests.precision.corpus import PACKAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORD = Path(__file__).with_name("findings.toml")
CORPUS = os.environ.get("STATELINT_CORPUS")
INSTALLED = ("optax", "flax", "equinox", "chex")
FALSE_AT_MOST = 0.02


def record() -> list[dict[str, str | int]]:
    found: list[dict[str, str | int]] = tomllib.loads(RECORD.read_text())["finding"]
    return found


def installed_root(package: str) -> Path | None:
    """Where the recorded version is installed; None when another one is, or none."""
    try:
        distribution = importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return None
    return Path(str(distribution.locate_file(""))) if distribution.version == PACKAGES[package][0] else None


def findings(root: Path, folder: str) -> Iterator[tuple[str, int, str]]:
    files = [(str(path), path.read_bytes()) for path in sorted((root / folder).rglob("*.py"))]
    for reading in Project(Names()).read(files):
        for finding in rules.in_source(reading.parts):
            if rules.load()[finding.code].rule.default:
                at = finding.location
                yield Path(at.path).relative_to(root).as_posix(), at.line, finding.code


@pytest.mark.parametrize("package", PACKAGES)
def test_the_findings_are_those_of_the_record(package: str) -> None:
    root = Path(CORPUS).resolve() if CORPUS else installed_root(package) if package in INSTALLED else None
    if root is None:
        pytest.skip(f"{package} {PACKAGES[package][0]} is not here")
    found = Counter(findings(root, PACKAGES[package][1]))
    known = Counter((entry["path"], entry["line"], entry["code"]) for entry in record() if entry["package"] == package)
    assert found == known


def test_every_finding_is_judged() -> None:
    judged = {entry["judgement"] for entry in record()}
    assert judged <= {"true", "harmless", "false"}
    assert all(entry["reason"] for entry in record())


def test_hardly_any_is_false() -> None:
    judged = Counter(entry["judgement"] for entry in record())
    assert judged["false"] <= FALSE_AT_MOST * judged.total()
