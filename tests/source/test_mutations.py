"""Nothing that stands in a file makes the source side crash: what cannot be read is reported as not read."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from statelint import rules
from statelint.model.names import Names
from statelint.source.project import Project
from tests.statelint_cli import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = sorted((ROOT / "fixtures").rglob("*.py"))
FEW = 200


def _spot(chance: random.Random, lines: list[bytes]) -> int:
    return chance.randrange(len(lines))


def _dropped(chance: random.Random, lines: list[bytes]) -> bytes:
    at, count = _spot(chance, lines), chance.randint(1, 5)
    return b"".join([*lines[:at], *lines[at + count :]])


def _doubled(chance: random.Random, lines: list[bytes]) -> bytes:
    at, count = _spot(chance, lines), chance.randint(1, 5)
    return b"".join([*lines[: at + count], *lines[at:]])


def _swapped(chance: random.Random, lines: list[bytes]) -> bytes:
    one, other = _spot(chance, lines), _spot(chance, lines)
    changed = list(lines)
    changed[one], changed[other] = changed[other], changed[one]
    return b"".join(changed)


def _truncated(chance: random.Random, lines: list[bytes]) -> bytes:
    data = b"".join(lines)
    return data[: chance.randrange(len(data) + 1)]


def _tabbed(chance: random.Random, lines: list[bytes]) -> bytes:
    at = _spot(chance, lines)
    return b"".join([*lines[:at], b"\t" + lines[at], *lines[at + 1 :]])


def _broken(chance: random.Random, lines: list[bytes]) -> bytes:
    """Bytes put in anywhere: a NUL, a form feed, half a character, brackets, quotes, a mark of byte order."""
    data = b"".join(lines)
    at = chance.randrange(len(data) + 1)
    noise = (
        b"\0",
        b"\f",
        b"\xc3",
        b"\xff\xfe",
        b"(",
        b"]",
        b'"""',
        b"'",
        b"\\",
        b"\xef\xbb\xbf",
        b";",
        b"\r",
        b"{**",
        b":=",
    )
    return data[:at] + chance.choice(noise) + data[at:]


def _joined(chance: random.Random, lines: list[bytes]) -> bytes:
    """Two lines in one, with a semicolon or without."""
    at = _spot(chance, lines)
    return b"".join([*lines[:at], lines[at].rstrip() + chance.choice((b"; ", b" ", b" \\\n")), *lines[at + 1 :]])


def _encoded(chance: random.Random, lines: list[bytes]) -> bytes:
    text = b"".join(lines).decode(errors="replace")
    encoding = chance.choice(("utf-16", "utf-32", "latin-1", "utf-8-sig", "cp037", "shift_jis", "utf-7"))
    cookie = chance.choice(("", f"# -*- coding: {encoding} -*-\n", "# coding: nothing\n"))
    return (cookie + text).encode(encoding, errors="replace")


def _ended(chance: random.Random, lines: list[bytes]) -> bytes:
    """Other ends of lines, mixed."""
    return b"".join(line.rstrip(b"\r\n") + chance.choice((b"\n", b"\r\n", b"\r")) for line in lines)


MUTATIONS: tuple[Callable[[random.Random, list[bytes]], bytes], ...] = (
    *(_dropped, _doubled, _swapped, _truncated, _tabbed, _broken, _joined, _encoded, _ended),
)


def mutated(data: bytes, seed: int) -> bytes:
    """The bytes after one to three mutations, always the same for a seed."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 3)):
        lines = data.splitlines(keepends=True) or [b"\n"]
        data = chance.choice(MUTATIONS)(chance, lines)
    return data


def read(path: str, data: bytes) -> None:
    """What the rules find in the bytes, each at a place that the file has."""
    (reading,) = Project(Names()).read([(path, data)])
    for finding in rules.in_source(reading.parts):
        at = finding.location
        assert at.line >= 1
        assert at.column >= 1
        assert finding.message


HEAD = b"import jax, jax.numpy as jnp\nfrom flax import struct\n"


@pytest.mark.parametrize("depth", [300, 480, 700, 2000])
@pytest.mark.parametrize(
    "source",
    [
        "jax.tree_util.register_pytree_node(K, lambda s: ({}), unflatten)",
        "@struct.dataclass\nclass K:\n    x: int = {}",
        "state = {{'params': jnp.ones(3)}}\nstate['step'] = {}",
        "def init():\n    return {{'params': jnp.ones(3), 'step': {}}}",
        "def init():\n    return {{'params': jnp.ones(3), 'step': jnp.arange(3) * 0.5 + {}}}",
    ],
)
def test_what_is_nested_too_deeply_is_reported(source: str, depth: int) -> None:
    read("deep.py", HEAD + source.format("+".join("1" * depth)).encode())


@pytest.mark.parametrize("seed", range(FEW))
def test_a_mutated_file_is_read_or_reported(seed: int) -> None:
    path = FILES[seed % len(FILES)]
    read(str(path), mutated(path.read_bytes(), seed))
