"""Begin a rule: `make rule CODE=SL999 NAME=some-name` writes its file and its fixtures, which work as they are."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

RULE = '''\
"""A state has a field called {field}.

## What it does

Says of every pytree class that a field of it is called `{field}`.

## What JAX does

Say here what was measured: how many executables a loop and a restore cost, what raises, what is wrong.

## Example

```python
class TrainState(NamedTuple):
    params: jax.Array
    {field}: jax.Array
```

## Use instead

```python
class TrainState(NamedTuple):
    params: jax.Array
```
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Severity
from statelint.model.source import StateClass
from statelint.rules import Rule

RULE = Rule("{code}", "{name}", Severity.WARNING)


def in_source(cls: StateClass) -> Iterator[Diagnostic]:
    """Fields of that name."""
    for field in cls.own_fields:
        if field.name == "{field}":
            yield RULE.at(field.at, f"{{cls.short_name}} has a field called {{field.name}}", field=field.name)
'''

FIXTURE = '''\
"""{title}"""
# costs train: loop=1 restore=0

from typing import NamedTuple

import jax
import jax.numpy as jnp

from statelint import Probe


class TrainState(NamedTuple):
    params: jax.Array
{declared}

def create_state():
    return TrainState(params=jnp.ones(3){built})


@jax.jit
def train_step(state, gradient):
    return state._replace(params=state.params - 0.1 * gradient)


train = Probe(step=train_step, state=create_state, args=("f32[3]",))
'''


class Wrong(Exception):
    """What is wrong with the code or the name."""


def texts(code: str, name: str) -> dict[str, str]:
    """The files of a new rule, by their paths below the root."""
    field = name.replace("-", "_")
    folder = f"fixtures/{code}_{field}"
    bad = FIXTURE.format(
        title=f"A field called {field}.",
        declared=f"    {field}: jax.Array  # expect: {code}\n",
        built=f", {field}=jnp.zeros(3)",
    )
    good = FIXTURE.format(title="The same state without it.", declared="", built="")
    return {
        f"statelint/rules/{code}_{field}.py": RULE.format(code=code, name=name, field=field),
        f"{folder}/bad.py": bad,
        f"{folder}/good.py": good,
    }


def check(code: str, name: str, root: Path) -> None:
    """Refuse what is malformed, and what is taken.

    Raises:
        Wrong: it is.
    """
    if not re.fullmatch(r"SL[1-8]\d\d|SL99\d", code):
        raise Wrong(f"CODE: expected SL and three digits (SL101 to SL899; SL990 to SL999 to try things), got {code!r}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", name):
        raise Wrong(f"NAME: expected words in lower case joined by hyphens (shared-buffer), got {name!r}")
    taken = [path.stem for path in (*root.glob("statelint/rules/SL*_*.py"), *root.glob("fixtures/SL*_*"))]
    for stem in taken:
        its_code, _, its_name = stem.partition("_")
        if its_code == code:
            raise Wrong(f"CODE: {code} is {its_name.replace('_', '-')} already")
        if its_name.replace("_", "-") == name:
            raise Wrong(f"NAME: {name} is {its_code} already")


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write the files of a rule, given its code and its name."""
    if len(arguments) != 2 or not all(arguments):
        print("usage: make rule CODE=SL999 NAME=some-name", file=sys.stderr)
        return 2
    code, name = arguments
    try:
        check(code, name, root)
    except Wrong as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for path, text in texts(code, name).items():
        file = root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    print("next: docs/adding-a-rule.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
