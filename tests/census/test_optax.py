"""Every transform of optax and optax.contrib that can be built with at most one plain argument, in a training loop.

What the probe predicts is what JAX does: executables of the loop and of a restore, and whether donation raises.
"""

from __future__ import annotations

import functools
import inspect
import re
import warnings

import jax
import jax.numpy as jnp
import optax
import optax.contrib
import pytest

import statelint
from tests.reality import measure

ARGUMENTS = {
    "apply_every": (2,),
    "freeze": (False,),
    "galore": (0.1,),
    "scale_by_backtracking_linesearch": (4,),
    "scale_by_schedule": (optax.constant_schedule(0.1),),
    "scale_by_zoom_linesearch": (4,),
    "split_real_and_imaginary": (optax.sgd(0.1),),
    "stateless": (lambda updates, params: updates,),
    "stateless_with_tree_map": (lambda update, param: 0.1 * update,),
}
"""Those that take something other than nothing or a rate."""

GIVEN_THE_LOSS = {"hutchinson_estimator_diag_hessian", "sophia"}
"""Those whose update asks for it by a name of their own."""

REFUSED = {"optax.contrib.scale_by_muon"}
"""Those that take no tree of params as it is."""

MODULES = {"optax": optax, "optax.contrib": optax.contrib}


def build(name):
    """The transform of this name, or None: a class, a wrapper, a schedule, or what takes more arguments."""
    module, _, function = name.rpartition(".")
    made = getattr(MODULES[module], function)
    for arguments in (ARGUMENTS[function],) if function in ARGUMENTS else ((), (0.1,)):
        with warnings.catch_warnings(action="ignore"):
            try:
                tx = made(*arguments)
            except Exception:
                continue
        if hasattr(tx, "init") and hasattr(tx, "update"):
            return tx
    return None


def is_maker(value):
    return callable(value) and not inspect.isclass(value)


NAMES = [f"{name}.{each}" for name, module in MODULES.items() for each in sorted(vars(module)) if each[0] != "_"]
NAMES = [name for name in NAMES if is_maker(getattr(MODULES[name.rpartition(".")[0]], name.rpartition(".")[2]))]
TRANSFORMS = [name for name in NAMES if build(name) is not None]
DTYPES = ("float32", "bfloat16")

SHARED = {"optax.contrib.cocob", "optax.scale_by_lbfgs", "optax.lbfgs"}
TWICE = {
    ("optax.lbfgs", "float32"),
    ("optax.scale_by_backtracking_linesearch", "float32"),
    ("optax.scale_by_distance_over_gradients", "bfloat16"),
}
"""Known of optax 0.2.8, and so not to be missed."""


def loss(params):
    return sum(jnp.sum((leaf - 1.0) ** 2) for leaf in jax.tree.leaves(params))


def training(name, dtype):
    """A fresh jitted step that donates its state, and the state's factory."""
    tx = build(name)

    def create():
        params = {"w": jnp.full((4, 3), 0.5, dtype), "b": jnp.zeros(3, dtype)}
        return params, tx.init(params)

    parameters = inspect.signature(tx.update).parameters
    takes_more = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state):
        params, opt_state = state
        value, gradient = jax.value_and_grad(loss)(params)
        extra = {"value": value, "grad": gradient, "value_fn": loss}
        if name.rpartition(".")[2] in GIVEN_THE_LOSS:
            extra["obj_fn"] = loss
        updates, opt_state = tx.update(gradient, opt_state, params, **(extra if takes_more else {}))
        return optax.apply_updates(params, updates), opt_state

    return step, create


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_predicted_is_measured(name, dtype):
    real = measure(*training(name, dtype), calls=3)
    if name in REFUSED:
        call, kind, message = real.error.split(": ", 2)
        assert (call, kind) == ("call 1", "ValueError")
        with pytest.raises(ValueError, match=re.escape(" ".join(message.split()[:3]))):
            statelint.trace(*training(name, dtype))
        return
    seen = statelint.trace(*training(name, dtype))
    shares = any(leaf.clashes for leaf in seen.leaves)
    assert shares == (real.donation_error is not None)
    if real.error is None or real.donation_error is not None:
        assert (seen.executables.loop, seen.executables.restore) == (real.loop, real.restore)
    else:
        assert seen.refused is not None, real.error
    assert not (name in SHARED and not shares)
    assert not ((name, dtype) in TWICE and seen.executables.loop == 1)


def test_there_are_more_than_a_hundred():
    assert len(TRANSFORMS) > 100
