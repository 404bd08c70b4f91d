"""statelint: a linter for JAX state trees.

Importing this imports nothing but what is asked of it, and for a probe only the standard library: one declared in
a module costs that module nothing.
"""

from __future__ import annotations

import sys

if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    # `python -m statelint` would import what the project calls like a module that we, or Python, need.
    del sys.path[0]

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from statelint.api import assert_stable, check, trace
    from statelint.probe.declare import Probe

__version__ = "0.1.0"
__all__ = ["Probe", "__version__", "assert_stable", "check", "trace"]


def __getattr__(name: str) -> Any:
    if name == "Probe":
        from statelint.probe import declare

        return declare.Probe
    if name in ("assert_stable", "check", "trace"):
        from statelint import api

        return getattr(api, name)
    raise AttributeError(f"module 'statelint' has no attribute {name!r}")
