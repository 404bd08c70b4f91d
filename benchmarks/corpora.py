"""The code that is linted: released packages, at recorded versions."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from statelint import discovery
from tests.precision.corpus import PACKAGES, install

JAX = {name: version for name, (version, _) in PACKAGES.items()} | {"jax": "0.10.2"}
GENERAL = {
    "ansible-core": "2.19.14",
    "django": "5.2.19",
    "flask": "3.1.3",
    "sqlalchemy": "2.1.9",
    "sympy": "1.14.0",
    "twisted": "26.10.0",
}
FEW = ("chex", "flask", "mctx")
"""What a quick look takes of both."""


@dataclasses.dataclass(frozen=True)
class Corpus:
    """A folder of Python files, and of nothing else."""

    folder: Path
    files: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.stat().st_size for file in self.files)

    def __str__(self) -> str:
        return f"{len(self.files):,} files, {self.size / 1e6:.1f} MB"


def download(versions: Mapping[str, str], folder: Path) -> Path:
    """The packages, without what they require; nothing is done when they are there."""
    record = folder / "versions.json"
    wanted = json.dumps(versions)
    if not record.exists() or record.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        install(folder, versions)
        record.write_text(wanted)
    return folder


def copy(source: Path, target: Path) -> Corpus:
    """The Python files below a folder, in a place where no settings and no ignore files hold."""
    found = discovery.find([str(source)], respect_gitignore=False)
    return gather((Path(file) for file in found.files), source, target)


def gather(files: Iterable[Path], source: Path, target: Path) -> Corpus:
    """Copies of these files, at the places that they have below the source."""
    copies = []
    for file in files:
        place = target / file.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        copies.append(Path(shutil.copyfile(file, place)))
    return Corpus(target, tuple(copies))


def part(corpus: Corpus, count: int, target: Path) -> Corpus:
    """So many of its files, small and large in the proportion that they have in the whole."""
    return gather(spread(corpus.files, count), corpus.folder, target)


def spread(files: Iterable[Path], count: int) -> list[Path]:
    """So many of the files, evenly over their sizes."""
    ordered = sorted(files, key=lambda file: (file.stat().st_size, file))
    return [ordered[(2 * turn + 1) * len(ordered) // (2 * count)] for turn in range(count)]
