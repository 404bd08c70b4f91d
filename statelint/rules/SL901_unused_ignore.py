"""An ignore comment that silences nothing.

## What it does

Finds `# statelint: ignore`, `# statelint: ignore-file` and `# noqa: SL...` comments, and single codes in
them, that silence no finding. A code that no rule has is one of them.

What a run cannot judge is left alone: codes of rules that are not selected, codes that a probe can find
when one did not run, a bare `# noqa`, which may be meant for another tool, and a bare
`# statelint: ignore` when some rules or the probe did not run. `--fix` removes codes that no probe can
find, and those that no rule has; it reads the source only.

## Why is this bad

The comment was written for a fault that is gone, or for another line. It will silence the next fault that
appears there, and nobody will see it.

## Example

```python
step = jnp.zeros((), jnp.int32)  # statelint: ignore[SL101]
```

## Use instead

```python
step = jnp.zeros((), jnp.int32)
```

No comment silences this rule, or every forgotten comment could be silenced by another; `ignore = ["SL901"]`
and `per-file-ignores` in the configuration do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.source import UnusedIgnore
from statelint.model.wording import listed
from statelint.rules import Rule, load

RULE = Rule("SL901", "unused-ignore", Severity.WARNING)


def in_source(ignore: UnusedIgnore) -> Iterator[Diagnostic]:
    """A comment, or some of its codes, that silenced nothing."""
    if ignore.codes:
        fix = Fix(True, f"remove {listed(ignore.codes)}", ignore.removal)
        yield RULE.at(ignore.at, "; ".join(_reasons(ignore.codes)), fix=fix)
    else:
        yield RULE.at(ignore.at, "this comment silences nothing", fix=Fix(True, "remove the comment"))


def _reasons(codes: Sequence[str]) -> Iterator[str]:
    """Why these codes silence nothing: each is idle, a prefix or unknown."""
    prefixes = [code for code in codes if _PREFIX.fullmatch(code)]
    idle = [code for code in codes if code in load()]
    unknown = [code for code in codes if code not in (*prefixes, *idle)]
    if idle:
        yield f"nothing here is silenced by ignoring {listed(idle)}"
    if prefixes:
        yield f"a comment names each rule in full, and does not take the prefix {listed(prefixes)}"
    if unknown:
        yield f"there is no rule {listed(unknown)}"


_PREFIX = re.compile(r"SL\d{0,2}|ALL", re.IGNORECASE)
