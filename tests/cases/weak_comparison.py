"""A flag that compares weak numbers is a weak bool; after one step it is a strong one."""

import jax.numpy as jnp

SOURCE = ()
PROBE = ("SL304",)


def refine(state):
    error = state["error"] * jnp.float32(0.25)
    return {"error": error, "converged": error < 1e-3}


def make():
    error = jnp.asarray(1.0)
    return refine, {"error": error, "converged": error < 1e-3}, ()


def make_fixed():
    return refine, {"error": jnp.ones((), jnp.float32), "converged": jnp.zeros((), bool)}, ()
