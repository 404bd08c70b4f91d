"""A step counter that starts as a Python int.

## What it does

Looks for a leaf with the name of a counter (`step`, `count`, `num_updates` ...; `counter-names` in the
configuration) that starts as the literal `0`, `1` or `-1`: where a state is built, or as the default of a
pytree class's field, in what its `__init__` sets, or in what `hk.set_state` is given. What the name of a dict is
given later in the same function counts. Under `nnx.jit` it looks for a step that counts up a Python attribute.

## What JAX does

Under plain `jax.jit` a Python int is a weakly typed leaf. It stays weak from step to step and one
executable serves them all, however often the number changes. The cost comes with the first strongly typed
int32, which is what a restored checkpoint brings: one more executable, that is one more trace and one
more compile of the whole step.

Under `eqx.filter_jit` a Python int is static, and under `nnx.jit` a Python attribute is part of the
graphdef. There each new value is a new executable: 5 traces in 5 steps, against 1 with an array in its
place.

## Example

```python
@flax.struct.dataclass
class SamplerState:
    sigma: jax.Array
    n_steps: int = 0


state = {"params": params, "step": 0}
```

## Use instead

```python
@flax.struct.dataclass
class SamplerState:
    sigma: jax.Array
    n_steps: jax.Array = dataclasses.field(default_factory=lambda: jnp.zeros((), jnp.int32))


state = {"params": params, "step": jnp.zeros((), jnp.int32)}
```

A dataclass refuses an array as a default (`mutable default ... use default_factory`); a NamedTuple takes it.

## Fix safety

Safe where a state is built for plain `jax.jit` and nothing says that the counter is an `int`: the step
traces it as an int32 either way, and an int32 beside floats changes none of their types. It is unsafe

- where the field is annotated `int`: a type checker is told otherwise, and so is whoever reads the counter as
  a Python number (a key of a dict, `json.dumps`);
- as the default of a class's field, for the same reason. The fix annotates `jax.Array` in place of `int`, and makes
  the array anew for each value by a `default_factory`; a NamedTuple has none, so that there it is made when the module
  is imported;
- under `eqx.filter_jit`: the counter becomes a leaf, and `if` on it no longer works in the step.
"""

from __future__ import annotations

from collections.abc import Iterator

from statelint.diagnostics import Diagnostic, Fix, Location, Severity
from statelint.model.paths import label
from statelint.model.source import Framework, StateClass, StateItem, StateValue, StepFunction
from statelint.model.trace import StepTrace
from statelint.rules import Rule

RULE = Rule("SL101", "python-step-counter", Severity.WARNING)

ZERO = "jnp.zeros((), jnp.int32)"
ADVICE = Fix(safe=False, message=f"write `{ZERO}`")


def in_source(part: StateValue | StateClass | StepFunction) -> Iterator[Diagnostic]:
    """Counters that start as a literal int; under nnx, counters that are counted up."""
    if isinstance(part, StateValue):
        for item in part.items:
            told = part.is_state or (part.cls is not None and part.cls.holds_leaves)
            if told and item.counter and not item.is_static and item.value.starts_count:
                yield _finding(item.value.at, item.path, item.value.text, part.framework, _fix(item, part.framework))
    elif isinstance(part, StateClass):
        for field in part.own_fields:
            default = field.default
            if part.holds_leaves and field.counter and not field.static and default and default.starts_count:
                fix = Fix(False, f"write {part.advised(field, ZERO)}", part.with_dtype(field))
                yield _finding(default.at, field.name, default.text, part.framework, fix)
    else:
        for update in part.updates:
            if update.counter:
                yield _finding(update.at, update.attribute, update.value.text, part.framework or "jax")


def _fix(item: StateItem, framework: Framework) -> Fix:
    is_number = item.field is not None and item.field.kind.is_number
    return Fix(framework == "jax" and not is_number, ADVICE.message, item.value.with_dtype())


def _finding(at: Location, path: str, text: str, framework: Framework, fix: Fix = ADVICE) -> Diagnostic:
    where = f"{label(path)} {_SAYS[framework].format(text=text)}"
    severity = Severity.WARNING if framework == "jax" else Severity.ERROR
    return RULE.at(at, where, field=path, severity=severity, fix=fix)


_SAYS: dict[Framework, str] = {
    "jax": "starts as the Python int {text}, a weak leaf: one more executable when a restore brings an int32",
    "equinox": "is the Python int {text}: static under eqx.filter_jit, one executable for each value",
    "flax.nnx": "is a Python int in the graphdef: under nnx.jit, one executable for each value",
}


def in_trace(trace: StepTrace) -> Iterator[Diagnostic]:
    """Counters that are Python ints: weak leaves under plain jit, static under equinox, attributes under nnx."""
    for static in trace.statics:
        if static.counts_in_graphdef and trace.adapter == "flax.nnx.jit":
            message = (
                f"{static.label} is a Python int in the graphdef, static under {trace.jit}: {trace.cost(static.path)}"
            )
            where = trace.at(static.produced, static.made)
            yield RULE.at(where, message, field=static.path, severity=Severity.ERROR, fix=ADVICE)
    for leaf in trace.leaves:
        if not leaf.counter or leaf.python_type != "int":
            continue
        if trace.is_weak_until_restored(leaf):
            message = f"{leaf.label} starts as a Python int, a weak leaf: {trace.restore_cost}"
            fix = ADVICE if leaf.library is None else Fix(False, f"add `.replace({leaf.name}={ZERO})`")
            yield RULE.at(trace.at(leaf.made), message, field=leaf.path, fix=fix)
        elif leaf.held == "static" and leaf.value_after is not None:
            message = f"{leaf.label} is a Python int, static under {trace.jit}: {trace.cost(leaf.path)}"
            yield RULE.at(trace.at(leaf.made), message, field=leaf.path, severity=Severity.ERROR, fix=ADVICE)
