"""The decoder with its layers scanned, as a probe."""

from benchmarks.decoder import TOKENS, program
from statelint import Probe

init, step = program("scanned")
scanned = Probe(step=step, state=init, args=(TOKENS,))
