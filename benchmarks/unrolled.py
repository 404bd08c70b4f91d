"""The decoder with its layers unrolled, as a probe."""

from benchmarks.decoder import TOKENS, program
from statelint import Probe

init, step = program("unrolled")
unrolled = Probe(step=step, state=init, args=(TOKENS,))
