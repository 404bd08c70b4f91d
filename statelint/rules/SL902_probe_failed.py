"""A declared probe could not be imported or traced, so what it is about was not checked.

## What it does
Reports a probe whose modules raise when they are imported, whose step or state raises when it is traced,
whose result holds no state, or whose process ended, hung, forked, took too much memory or printed without
end. It stands at the user's line that failed, or at the probe's own line where there is none, and shows the last
lines that the code printed; `--verbose` shows all of them, and the traceback. A probe that is traced, and whose step
XLA does not compile (`--compile`) or whose state a checkpoint does not take (`--restore`), is reported beside what
the trace shows.

## What JAX does
Nothing: this is not about JAX. A probe that did not run says nothing of the step, and "not checked" is never
"clean".

## Example
```python
probe = Probe(step=train_step, state=create_state, args=("f32[16,8]",))  # train_step takes two batches
```

## Use instead
Run the step once by hand on the same arguments: what jit says there is what the probe met. Where the project
has an interpreter of its own, name it (`--python .venv/bin/python`), and leave all probes out with
`--no-probe` where none can run.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.paths import label
from statelint.model.trace import ProbeFailure, StepTrace
from statelint.model.wording import brief, listed
from statelint.rules import Rule

RULE = Rule("SL902", "probe-failed", Severity.ERROR)
LONGEST = 300
"""Characters that are quoted of what the code raises."""


def in_trace(part: ProbeFailure | StepTrace) -> Iterator[Diagnostic]:
    """A probe that failed, a step that XLA refuses, a state that cannot be saved, or a step that fails on its own
    result for no reason that another rule can see.
    """
    if isinstance(part, ProbeFailure):
        finding = RULE.at(part.at, f"not traced: {brief(part.message, LONGEST)}")
        yield msgspec.structs.replace(finding, printed=part.last)
        return
    if part.uncompiled is not None:
        yield RULE.at(part.probe.at, f"traced, but not compiled: {brief(part.uncompiled, LONGEST)}")
    if (fault := part.unrestored) is not None:
        keys = listed([f"jax.random.key_data({label(path)})" for path in fault.keys])
        advice = f"; save {keys} in place of the typed key{'s' * (len(fault.keys) > 1)}" if keys else ""
        error = brief(fault.error.rstrip("."), LONGEST)
        what = "the step fails on a restored state" if fault.by_step else "its state cannot be saved"
        by = f" by {fault.library}" if fault.library else ""
        yield RULE.at(part.probe.at, f"traced, but {what}{by}: {error}{advice}")
    if part.refused is not None and not part.is_drifting and not part.classes:
        error = brief(part.refused.error, LONGEST)
        where = f"at its own result, in call {part.refused.call}" if part.refused.call > 1 else "in call 1"
        yield RULE.at(part.probe.at, f"the step fails {where}: {error}")
