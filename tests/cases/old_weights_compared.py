"""The change of the weights is computed after the old ones were donated."""

import jax
import numpy as np

SOURCE = ("SL402",)
COSTS = "Array has been deleted"


def relax(state):
    return {"w": state["w"] * 0.5}


relax_in_place = jax.jit(relax, donate_argnums=0)


def first_state():
    return jax.device_put({"w": np.ones(3, np.float32)})


def run():
    old = first_state()
    new = relax_in_place(old)
    report = lambda: np.asarray(old["w"])  # noqa: E731
    return new, report()


def run_fixed():
    state = first_state()
    before = np.array(state["w"])
    state = relax_in_place(state)
    return state, np.asarray(state["w"]) - before
