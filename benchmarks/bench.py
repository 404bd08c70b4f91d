"""How fast statelint is beside its peers, in one table: `make bench`.

The peers and the code that is linted come from the package registry, at recorded versions, and are kept in a folder.
All is linted in copies elsewhere. A time is the best of several, taken in turn.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import corpora, decoder, probing
from benchmarks.corpora import Corpus
from benchmarks.linting import QUICK, Effort, Linting
from benchmarks.machine import machine, versions
from benchmarks.peers import Peers
from benchmarks.table import HEAD, Profile, Row, line, lines
from benchmarks.timing import RunError

RESULTS = Path(__file__).with_name("RESULTS.md")
KEPT = "## Notes"
"""From this heading on, what is in the file of results was written by hand."""

LINTING: dict[str, Callable[[Linting], Iterator[Row]]] = {
    "cold": Linting.cold,
    "warm": Linting.warm,
    "changed": Linting.changed,
    "others": Linting.others,
    "memory": Linting.memory,
    "growth": Linting.growth,
}
PROBE = "probe"
ABOUT = """\
Each row is some work, what it takes a peer, and what it takes statelint. The ratio is statelint's figure by the peer's:
0.2 is five times faster. A time is the best of several whole runs, peer and statelint in turn, on the same files, each
with its default rules.
"""


def main() -> None:
    """Measure, print what is known as soon as it is, and write it where asked."""
    options = _options()
    report = []
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        for text in _report(options, Path(scratch)):
            print(text, flush=True)
            report.append(f"{text}\n")
    if options.write:
        kept = RESULTS.read_text(encoding="utf-8").partition(KEPT)[2]
        RESULTS.write_text(f"# Results\n\n{''.join(report)}\n{KEPT}{kept}", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path(".venv/bench"), help="where peers and packages are kept")
    parser.add_argument("--jax-corpus", type=Path, help="lint this folder in place of the JAX packages")
    parser.add_argument("--general-corpus", type=Path, help="and this in place of the general ones")
    parser.add_argument("--only", choices=[*LINTING, PROBE], action="append", help="this part of the table")
    parser.add_argument("--quick", action="store_true", help="a few files, each once: the figures mean nothing")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name} too")
    options = parser.parse_args()
    if options.write and (options.quick or options.only):
        parser.error("--write takes the whole table: it does not go with --quick and --only")
    return options


def _report(options: argparse.Namespace, scratch: Path) -> Iterator[str]:
    """The table, and profiles of what is not within its reach."""
    yield from (ABOUT, machine(), versions(), "", *lines(HEAD, ()))
    missed: dict[str, Profile] = {}
    for row in _rows(options, scratch):
        if row.profile is not None and not row.is_reached:
            missed.setdefault(row.work, row.profile)
        yield line(row.cells())
    for work, profile in missed.items():
        shares = [(part, f"{share:.0%}") for part, share in profile(scratch)]
        yield from ("", f"Where the time goes, {work}:", "", *lines(("in", "share"), shares))


def _rows(options: argparse.Namespace, scratch: Path) -> Iterator[Row]:
    effort = QUICK if options.quick else Effort()
    parts = options.only or [*LINTING, PROBE]
    if any(part in LINTING for part in parts):
        peers = Peers(options.folder / "peers")
        jax = _corpus("jax", corpora.JAX, options, scratch)
        general = _corpus("general", corpora.GENERAL, options, scratch)
        linting = Linting(peers, jax, general, scratch, effort)
        for part in parts:
            yield from LINTING[part](linting) if part in LINTING else ()
    if PROBE in parts:
        yield from probing.rows(decoder.FORMS[:1] if options.quick else decoder.FORMS, effort.rounds)


def _corpus(name: str, wanted: dict[str, str], options: argparse.Namespace, scratch: Path) -> Corpus:
    """The folder that is given for it, or the packages, copied."""
    source: Path | None = getattr(options, f"{name}_corpus")
    if source is None:
        folder = options.folder / (f"{name}_quick" if options.quick else name)
        few = {package: version for package, version in wanted.items() if package in corpora.FEW}
        source = corpora.download(few if options.quick else wanted, folder)
    return corpora.copy(source, scratch / f"{name}_corpus")


if __name__ == "__main__":
    try:
        main()
    except (RunError, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: {error}")
