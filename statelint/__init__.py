"""statelint: a linter for JAX state trees.

Importing this imports neither jax nor libcst nor anything but the standard library.
"""

from __future__ import annotations

from statelint.probe.declare import Probe

__version__ = "0.1.0"
__all__ = ["Probe", "__version__"]
