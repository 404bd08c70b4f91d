"""A model of 406 billion parameters, to be traced and never run.

A decoder with Adam: 126 layers of 16,384, a vocabulary of 128,256, 5 TB of state, none of which is ever allocated.
Its layers are either scanned (34 leaves) or unrolled (3,409 leaves).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

LAYERS, WIDTH, HIDDEN, HEADS, KV_HEADS, HEAD, VOCABULARY = 126, 16_384, 53_248, 128, 8, 128, 128_256
TOKENS_SHAPE = (8, 512)
TOKENS = "i32[8,512]"
FORMS = ("scanned", "unrolled")

Tree = Any
"""A pytree of arrays."""


def init_layer() -> Tree:
    """The weights of one layer."""
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


def norm(scale: Any, x: jax.Array) -> jax.Array:
    """Root mean square norm."""
    return scale * x * jax.lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-5)


def apply_layer(layer: Tree, x: jax.Array) -> jax.Array:
    """Grouped attention, and a gated MLP."""
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


def program(form: str) -> tuple[Callable[[], Tree], Callable[..., Tree]]:
    """The init and the step of a decoder whose layers are `scanned` or `unrolled`."""

    def init() -> Tree:
        def many() -> Tree:
            layer = jax.eval_shape(init_layer)
            return jax.tree.map(lambda leaf: jnp.zeros((LAYERS, *leaf.shape), leaf.dtype), layer)

        layers = many() if form == "scanned" else [init_layer() for _ in range(LAYERS)]
        embedding, output = jnp.zeros((VOCABULARY, WIDTH)), jnp.zeros((WIDTH, VOCABULARY))
        params = {"embedding": embedding, "layers": layers, "output": output}
        mu, nu = jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
        return {"params": params, "opt": {"count": jnp.zeros((), jnp.int32), "mu": mu, "nu": nu}}

    def loss(params: Tree, tokens: jax.Array) -> jax.Array:
        x = params["embedding"][tokens]
        if form == "scanned":
            x, _ = jax.lax.scan(lambda x, layer: (apply_layer(layer, x), None), x, params["layers"])
        else:
            for layer in params["layers"]:
                x = apply_layer(layer, x)
        logits = jax.nn.log_softmax(norm(1.0, x) @ params["output"])
        return -jnp.mean(jnp.take_along_axis(logits[:, :-1], tokens[:, 1:, None], axis=-1))

    def step(state: Tree, tokens: jax.Array) -> Tree:
        gradients = jax.grad(loss)(state["params"], tokens)
        opt = state["opt"]
        count = opt["count"] + 1
        mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, opt["mu"], gradients)
        nu = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, opt["nu"], gradients)

        def update(p: jax.Array, m: jax.Array, v: jax.Array) -> jax.Array:
            return p - 1e-4 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.95**count)) + 1e-8)

        params = jax.tree.map(update, state["params"], mu, nu)
        return {"params": params, "opt": {"count": count, "mu": mu, "nu": nu}}

    return init, jax.jit(step, donate_argnums=0)
