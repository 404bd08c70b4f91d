"""What a probe costs beside tracing by hand, on a model of 406 billion parameters.

    python benchmarks/probe_scale.py

A decoder with Adam: 126 layers of 16,384, a vocabulary of 128,256, 4 TB of state, none of which is ever allocated.
Its layers are either scanned (34 leaves) or unrolled (3,409 leaves). By hand: `jax.eval_shape` of the init and one
abstract trace of the step, which is the least that anyone pays who asks what the step gives back. The probe: all that
`statelint.trace` finds out. Each is a process of its own; both are done several times, in turn, and the fastest counts.
"""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
import time

LAYERS, WIDTH, HIDDEN, HEADS, KV_HEADS, HEAD, VOCABULARY = 126, 16_384, 53_248, 128, 8, 128, 128_256
ROUNDS = 5
TIME, MEMORY = 1.3, 1.5
"""How many times what is done by hand a probe may take."""


def init_layer():
    """The weights of one layer."""
    import jax.numpy as jnp

    return {
        "attention_norm": jnp.ones(WIDTH),
        "query": jnp.zeros((WIDTH, HEADS * HEAD)),
        "key": jnp.zeros((WIDTH, KV_HEADS * HEAD)),
        "value": jnp.zeros((WIDTH, KV_HEADS * HEAD)),
        "output": jnp.zeros((HEADS * HEAD, WIDTH)),
        "mlp_norm": jnp.ones(WIDTH),
        "gate": jnp.zeros((WIDTH, HIDDEN)),
        "up": jnp.zeros((WIDTH, HIDDEN)),
        "down": jnp.zeros((HIDDEN, WIDTH)),
    }


def norm(scale, x):
    """Root mean square norm."""
    import jax
    import jax.numpy as jnp

    return scale * x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def apply_layer(layer, x):
    """Grouped attention, and a gated MLP."""
    import jax
    import jax.numpy as jnp

    batch, length, _ = x.shape
    h = norm(layer["attention_norm"], x)
    query = (h @ layer["query"]).reshape(batch, length, KV_HEADS, HEADS // KV_HEADS, HEAD)
    key = (h @ layer["key"]).reshape(batch, length, KV_HEADS, HEAD)
    value = (h @ layer["value"]).reshape(batch, length, KV_HEADS, HEAD)
    scores = jnp.einsum("bqkgd,bskd->bkgqs", query, key) / HEAD**0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
    mixed = jnp.einsum("bkgqs,bskd->bqkgd", jax.nn.softmax(scores), value)
    x = x + mixed.reshape(batch, length, HEADS * HEAD) @ layer["output"]
    h = norm(layer["mlp_norm"], x)
    return x + (jax.nn.silu(h @ layer["gate"]) * (h @ layer["up"])) @ layer["down"]


def program(form):
    """The init and the step of a decoder whose layers are `scanned` or `unrolled`."""
    import jax
    import jax.numpy as jnp

    def init():
        def many():
            layer = jax.eval_shape(init_layer)
            return jax.tree.map(lambda leaf: jnp.zeros((LAYERS, *leaf.shape), leaf.dtype), layer)

        layers = many() if form == "scanned" else [init_layer() for _ in range(LAYERS)]
        embedding, output = jnp.zeros((VOCABULARY, WIDTH)), jnp.zeros((WIDTH, VOCABULARY))
        params = {"embedding": embedding, "layers": layers, "output": output}
        mu, nu = jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
        return {"params": params, "opt": {"count": jnp.zeros((), jnp.int32), "mu": mu, "nu": nu}}

    def loss(params, tokens):
        x = params["embedding"][tokens]
        if form == "scanned":
            x, _ = jax.lax.scan(lambda x, layer: (apply_layer(layer, x), None), x, params["layers"])
        else:
            for layer in params["layers"]:
                x = apply_layer(layer, x)
        logits = jax.nn.log_softmax(norm(1.0, x) @ params["output"])
        return -jnp.mean(jnp.take_along_axis(logits[:, :-1], tokens[:, 1:, None], axis=-1))

    def step(state, tokens):
        gradients = jax.grad(loss)(state["params"], tokens)
        opt = state["opt"]
        count = opt["count"] + 1
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, opt["mu"], gradients)
        nu = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, opt["nu"], gradients)

        def update(p, m, v):
            return p - 1e-4 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.95**count)) + 1e-8)

        params = jax.tree.map(update, state["params"], mu, nu)
        return {"params": params, "opt": {"count": count, "mu": mu, "nu": nu}}

    return init, jax.jit(step, donate_argnums=0)


def by_hand(form):
    """Trace the init and the step once each."""
    import jax
    import jax.numpy as jnp

    init, step = program(form)
    state = jax.eval_shape(init)
    step.trace(state, jax.ShapeDtypeStruct((8, 512), jnp.int32))
    return len(jax.tree.leaves(state))


def by_probe(form):
    """Trace them as a probe."""
    import statelint

    init, step = program(form)
    trace = statelint.trace(step, init, "i32[8,512]")
    assert (trace.executables.loop, trace.executables.restore) == (1, 0)
    return len(trace.leaves)


def measure(way, form):
    """Seconds and peak memory; all that either way imports is imported before the clock starts."""
    for module in ("jax.numpy", "jax.extend.source_info_util", "statelint.api", "statelint.probe.tracer"):
        importlib.import_module(module)
    start = time.perf_counter()
    leaves = {"hand": by_hand, "probe": by_probe}[way](form)
    seconds = time.perf_counter() - start
    return {"leaves": leaves, "seconds": seconds, "kilobytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def best(runs):
    """The fastest run, and the least memory."""
    return {key: min(run[key] for run in runs) for key in runs[0]}


def main():
    """Measure all in processes of their own, print a table, and fail where a probe takes more than it may."""
    print(f"{'layers':<10}{'leaves':>7}{'':>4}{'hand':>9}{'probe':>9}{'ratio':>8}   at most")
    is_within = True
    for form in ("scanned", "unrolled"):
        runs = {"hand": [], "probe": []}
        for _ in range(ROUNDS):
            for way, found in runs.items():
                done = subprocess.run([sys.executable, __file__, way, form], capture_output=True, text=True, check=True)
                found.append(json.loads(done.stdout))
        hand, probe = best(runs["hand"]), best(runs["probe"])
        for unit, key, scale, limit in (("s", "seconds", 1, TIME), ("MB", "kilobytes", 1000, MEMORY)):
            ratio = probe[key] / hand[key]
            is_within = is_within and ratio <= limit
            numbers = f"{hand[key] / scale:>9.2f}{probe[key] / scale:>9.2f}{ratio:>8.2f}{limit:>10.1f}"
            print(f"{form:<10}{hand['leaves']:>7,}{unit:>4}{numbers}")
    return 0 if is_within else 1


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(measure(*sys.argv[1:])))
    else:
        sys.exit(main())
