"""What a probe takes beside the same traces by hand, on a model of 406 billion parameters."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.table import Row
from benchmarks.timing import Run, race, seconds

ROOT = Path(__file__).parent.parent
TIME, MEMORY = 1.3, 1.5
"""How many times what is done by hand a probe may take."""


def rows(forms: Iterable[str], rounds: int) -> Iterator[Row]:
    """Each form of the model: whole processes first, then the traces alone, after all imports."""
    for form in forms:
        work = f"a probe, {form} layers"
        figures = race(_module("benchmarks.by_hand", form), _probe(form), rounds)
        profile = partial(_profile, form)
        yield Row(f"{work}, whole run", "`eval_shape` in a bare process", *figures, TIME, profile=profile)
        found = [(_traced("hand", form), _traced("probe", form)) for _ in range(rounds)]
        for unit, key, at_most in (("s", "seconds", TIME), ("bytes", "bytes", MEMORY)):
            theirs, ours = (min(run[key] for run in runs) for runs in zip(*found, strict=True))
            yield Row(f"{work}, after imports", "`eval_shape`", theirs, ours, at_most, unit)


def _profile(form: str, folder: Path) -> Iterator[tuple[str, float]]:
    """What a whole run is made of, each part measured by itself."""
    whole = _probe(form).measured(seconds)
    parts = {
        "statelint's start, and reading the source": _probe(form, "--no-probe").measured(seconds),
        "Python's start, and the import of jax": Run((sys.executable, "-c", "import jax"), folder).measured(seconds),
        "the traces, and all that is found out of them": _traced("probe", form)["seconds"],
    }
    for part, spent in {**parts, "the rest": whole - sum(parts.values())}.items():
        yield part, spent / whole


def _probe(form: str, *options: str) -> Run:
    return _module("statelint", "check", "--isolated", "--no-cache", *options, f"benchmarks/{form}.py")


def _module(name: str, *arguments: str) -> Run:
    return Run((sys.executable, "-m", name, *arguments), ROOT, exits=(0,))


def _traced(way: str, form: str) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.tracing", way, form]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found
