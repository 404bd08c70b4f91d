"""The first screen: bytes, before anything is parsed."""

from __future__ import annotations

import re

_WORDS = re.compile(rb"\b(?:jax|jaxlib|flax|optax|equinox|chex|jaxtyping|haiku|distrax|brax|statelint)\b|jax")

_BUILDS = re.compile(rb"State\(|State\.create\(")

PARSED_AT_MOST = 4_000_000
"""Files in which nothing is to be found are parsed, to see whether they can be, up to these bytes in all."""


def may_restore(content: str) -> bool:
    """Whether a checkpoint may be read back."""
    return "restore" in content and ("checkpoint" in content or "msgpack" in content)


def mentions_jax(data: bytes) -> bool:
    """Whether the bytes name JAX, a library built on it or statelint."""
    return _WORDS.search(data) is not None


def builds_state(data: bytes) -> bool:
    """Whether a class that is named like a state is called: another file may define it."""
    return _BUILDS.search(data) is not None


def matters(data: bytes) -> bool:
    """Whether a rule may have something to say of it."""
    return mentions_jax(data) or builds_state(data)
