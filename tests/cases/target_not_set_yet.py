"""A target that is not set yet is NaN in a static field, and the step makes another NaN."""

import dataclasses

import jax
import jax.numpy as jnp

SOURCE = ("SL205",)
PROBE = ("SL205",)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Control:
    level: jax.Array
    target: float = dataclasses.field(metadata={"static": True})


def make():
    def step(control):
        return Control(control.level * 0.9, float("nan"))

    return step, Control(jnp.ones(2), float("nan")), ()


def make_fixed():
    def step(control):
        return dataclasses.replace(control, level=control.level * 0.9)

    return step, Control(jnp.ones(2), -1.0), ()
