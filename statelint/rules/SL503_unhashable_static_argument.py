"""A static argument that cannot be hashed: the call raises.

## What it does

Looks at the calls of jitted functions of the same file for a list, a dict, a set, an array or a dataclass that is
not frozen, passed as a static argument: as written there, or through a name that stands for it.

## What JAX does

Static arguments are part of the key of jit's cache and are hashed. The call raises
`ValueError: Non-hashable static arguments are not supported`.

## Example

```python
@functools.partial(jax.jit, static_argnames="axes")
def normalize(x, axes):
    return x / jnp.linalg.norm(x, axis=axes, keepdims=True)


normalize(x, [0, 1])
```

## Use instead

```python
normalize(x, (0, 1))
```

## Fix safety

Advice: a tuple, `frozen=True` for a dataclass, an ordinary argument for an array. The tuple takes part in the
function as the list did, but for what only a list can do.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Severity
from statelint.model.callsites import StaticArgument
from statelint.model.source import Kind
from statelint.rules import Rule

RULE = Rule("SL503", "unhashable-static-argument", Severity.ERROR)

_KINDS = {Kind.LIST: "a list", Kind.DICT: "a dict", Kind.SET: "a set", Kind.NUMPY: "an array", Kind.ARRAY: "an array"}
_INSTEAD = {Kind.LIST: "pass a tuple", Kind.DICT: "pass a tuple of pairs", Kind.SET: "pass a frozenset"}


def in_source(argument: StaticArgument) -> Iterator[Diagnostic]:
    """A value that has no hash."""
    if argument.dataclass is not None:
        what, instead = "a dataclass that is not frozen", f"make `{argument.dataclass}` a frozen dataclass"
    elif argument.kind in _KINDS:
        what, instead = _KINDS[argument.kind], _INSTEAD.get(argument.kind, "let it be traced, as arrays are")
    else:
        return
    name = f"`{argument.parameter}`" if argument.parameter else "this argument"
    yield RULE.at(
        argument.at,
        f"{name} is static in `{argument.function}` and is given {what}, which has no hash: the call raises",
        field=argument.parameter or None,
        fix=Fix(safe=False, message=instead),
    )
