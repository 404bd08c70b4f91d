"""Steps over several devices, for a process that has four: predicted, predicted from compiled programs, measured.

Run as a script, it prints one JSON object.
"""

from __future__ import annotations

import contextlib
import json

import jax
import jax.numpy as jnp
import msgspec

import statelint
from tests.probe.meshes import IN_A_MESH, STEPS, count
from tests.probe.placed import REFUSED
from tests.reality import measure


def concrete(state):
    """Arrays for placeholders."""

    def array(leaf):
        if leaf == "i32[]":
            return count()
        made = jnp.ones(leaf.shape, leaf.dtype)
        return made if leaf.sharding is None else jax.device_put(made, leaf.sharding)

    return state if callable(state) else jax.tree.map(array, state)


def costs(executables):
    return [executables.loop, executables.restore]


def observe(make, mesh=None):
    """What is said of a step, and what it really costs."""
    # Before jax 0.6 the context has another name.
    enter = getattr(jax, "set_mesh", None) or jax.sharding.use_mesh
    with contextlib.nullcontext() if mesh is None else enter(mesh):
        step, state, args = make()
        seen = statelint.trace(step, state, *args, measure=True)
        step, state, args = make()
        compiled = statelint.trace(step, state, *args, compile=True)
        found = statelint.check(step, state, *args, compile=True)
        step, state, args = make()
        real = measure(step, concrete(state), args, calls=3)
    return {
        "predicted": costs(seen.executables),
        "measured": costs(seen.measured),
        "compiled": costs(compiled.executables),
        "uncompiled": compiled.uncompiled,
        "real": [real.loop, real.restore],
        "error": real.error,
        "moves": [[leaf.path, move.before, move.after] for leaf in compiled.leaves for move in leaf.moves],
        "donation": msgspec.to_builtins(compiled.donation),
        "found": [[finding.code, finding.location.line, finding.message] for finding in found],
    }


def observe_refused(make):
    """What is said of a step that jit refuses, and what JAX says."""
    step, state, args = make()
    traces = [statelint.trace(step, state, *args, compile=is_compiling) for is_compiling in (False, True)]
    found = statelint.check(step, state, *args)
    step, state, args = make()
    return {
        "refused": [[trace.refused.call, trace.refused.error] for trace in traces if trace.refused],
        "predicted": [trace.executables.loop for trace in traces],
        "real": measure(step, state, args, calls=3).error,
        "found": [finding.message for finding in found if finding.code == "SL902"],
    }


if __name__ == "__main__":
    observed = {name: observe(make) for name, make in STEPS.items()}
    observed |= {name: observe(make, mesh) for name, (mesh, make) in IN_A_MESH.items()}
    observed |= {name: observe_refused(make) for name, (_, make) in REFUSED.items()}
    print(json.dumps(observed))
