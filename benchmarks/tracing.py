"""One trace of the decoder in this process: `python -m benchmarks.tracing hand scanned`, or `probe`.

All that either way imports is imported before the clock starts.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time

import statelint
from benchmarks import by_hand
from benchmarks.decoder import TOKENS, program


def probe(form: str) -> None:
    """All that `statelint.trace` finds out."""
    init, step = program(form)
    trace = statelint.trace(step, init, TOKENS)
    assert trace.executables is not None
    assert (trace.executables.loop, trace.executables.restore) == (1, 0)


def main() -> None:
    """Print the seconds, and the peak memory in bytes."""
    _, way, form = sys.argv
    for module in ("jax.extend.source_info_util", "statelint.api", "statelint.probe.tracer"):
        importlib.import_module(module)
    start = time.perf_counter()
    {"hand": by_hand.trace, "probe": probe}[way](form)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
