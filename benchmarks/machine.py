"""What the figures were measured on, and with."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

import psutil

from benchmarks.peers import VERSIONS


def machine() -> str:
    """The kind of machine, in a sentence."""
    memory = psutil.virtual_memory().total / 2**30
    return f"{os.cpu_count()} cores of {_processor()}, {memory:.0f} GB, {platform.system()}, no GPU used."


def versions() -> str:
    """Of all that takes part."""
    used = {"Python": platform.python_version(), **{name: _installed(name) for name in ("jax", "libcst")}, **VERSIONS}
    return ", ".join(f"{name} {version}" for name, version in used.items()) + "."


def _processor() -> str:
    try:
        described = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in described.splitlines() if line.startswith("model name"))
    return next(names, platform.machine())


def _installed(name: str) -> str:
    return importlib.metadata.version(name)
