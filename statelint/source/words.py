"""The first screen: bytes, before anything is parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_IN_X = re.compile(rb"x(?:(?<=jax)|(?<=flax)|(?<=optax)|(?<=equinox)|(?<=chex)|(?<=distrax)|(?<=brax))")
"""All names but two end in a letter that is rare: one search for it takes a third of the time of one for each."""

_OTHERS = (b"haiku", b"statelint")

_BUILDS = re.compile(rb"State(?:\.create)?\(")
_CALLED = re.compile(rb"(?<!\bclass )(?<!\bdef )\b_*[A-Z]\w*\Z")

_DEFINES = re.compile(rb"\bclass\s+(\w*State)\b")

PARSED_AT_MOST = 4_000_000
"""Files in which nothing is to be found are parsed, so that a syntax error does not pass for clean code, up to these
bytes of them in all."""


def may_restore(content: str) -> bool:
    """Whether a checkpoint may be read back."""
    return "restore" in content and ("checkpoint" in content or "msgpack" in content)


def mentions_jax(data: bytes) -> bool:
    """Whether the bytes name JAX, a library built on it or statelint."""
    return _IN_X.search(data) is not None or any(word in data for word in _OTHERS)


def states_built(data: bytes) -> Iterator[bytes]:
    """The classes named like a state that are called: another file may define them."""
    for found in _BUILDS.finditer(data):
        name_end = found.start() + len(b"State")
        line = data.rfind(b"\n", 0, name_end) + 1
        name = _CALLED.search(data, line, name_end)
        if name is not None:
            yield name.group()


def states_defined(data: bytes) -> list[bytes]:
    """The classes named like a state that a file defines."""
    return _DEFINES.findall(data) if b"State" in data else []


def matters(data: bytes) -> bool:
    """Whether a rule may have something to say of it."""
    return mentions_jax(data) or any(states_built(data))


def are_many(contents: Sequence[bytes]) -> bool:
    """Whether there are too many files among these in which nothing is to be found, to parse them all the same."""
    if sum(map(len, contents)) <= PARSED_AT_MOST:
        return False
    others = 0
    for data in contents:
        others += 0 if matters(data) else len(data)
        if others > PARSED_AT_MOST:
            return True
    return False
