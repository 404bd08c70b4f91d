"""A file that cannot be read as Python.

## What it does

Reports a file that cannot be opened, that does not parse, whose bytes cannot be decoded, or that is nested too deeply
to be read. Nothing in such a file, or in such a statement, was checked, and what was not checked is never
called clean.

Syntax newer than the Python that runs statelint is read all the same.

## Example

```python
state = {"step": jnp.zeros((), jnp.int32)
```

## Use instead

```python
state = {"step": jnp.zeros((), jnp.int32)}
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.source import SyntaxFault
from statelint.rules import Rule

RULE = Rule("SL900", "syntax-error", Severity.ERROR)


def in_source(fault: SyntaxFault) -> Iterator[Diagnostic]:
    """Say what Python, or LibCST, says."""
    yield RULE.at(fault.at, f"not checked: {fault.message}")
