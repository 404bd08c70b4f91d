"""Steps as people write them with the libraries that are installed: each a function that gives a fresh step, the state
or its factory, the other arguments, and options of a probe.
"""

from __future__ import annotations

import functools
from typing import Any

import chex
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax import nnx, struct
from flax.training import dynamic_scale
from flax.training.train_state import TrainState
from jax.example_libraries import optimizers

STEPS: dict[str, Any] = {}

INPUTS = jnp.ones((4, 3))


def step(name):
    """Enter a function under a name."""

    def enter(function):
        STEPS[name] = function
        return function

    return enter


def family(prefix, members):
    """Enter a function for each member of a family, which it is given."""

    def enter(function):
        for name, member in members.items():
            STEPS[f"{prefix}-{name}"] = functools.partial(function, member)
        return function

    return enter


def square(tree):
    return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree))


# --- flax.linen --------------------------------------------------------------------------------------------


class Dense(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(nn.relu(nn.Dense(4)(x)))


@family("linen", {"sgd": optax.sgd, "adam": optax.adam, "adamw": optax.adamw, "lion": optax.lion})
def linen(make_tx):
    """A TrainState as `create` makes it, with its Python step."""

    def create():
        params = Dense().init(jax.random.key(0), INPUTS)
        return TrainState.create(apply_fn=Dense().apply, params=params, tx=make_tx(1e-2))

    state = create()

    @jax.jit
    def train_step(state, x):
        gradient = jax.grad(lambda params: square(state.apply_fn(params, x)))(state.params)
        return state.apply_gradients(grads=gradient)

    return train_step, state, (INPUTS,), {}


class Normed(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.BatchNorm(use_running_average=False)(nn.Dense(4)(x))
        return nn.Dropout(0.5, deterministic=False)(x)


@step("linen-batch-norm-and-dropout")
def linen_stats():
    def create():
        keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
        return {"variables": Normed().init(keys, INPUTS), "key": jax.random.key(2)}

    def train_step(state, x):
        key, draw = jax.random.split(state["key"])
        variables = state["variables"]

        def loss(params):
            y, new = Normed().apply({**variables, "params": params}, x, rngs={"dropout": draw}, mutable=["batch_stats"])
            return square(y), new

        (_, new), gradient = jax.value_and_grad(loss, has_aux=True)(variables["params"])
        params = jax.tree.map(lambda p, g: p - 0.1 * g, variables["params"], gradient)
        return {"variables": {"params": params, **new}, "key": key}

    return train_step, create, (INPUTS,), {}


@step("flax-dynamic-scale")
def scaled():
    def create():
        return {"w": jnp.ones(3, jnp.float16), "scale": dynamic_scale.DynamicScale()}

    def train_step(state):
        scale, is_finite, _, gradient = state["scale"].value_and_grad(lambda w: jnp.sum(w**2))(state["w"])
        w = jnp.where(is_finite, state["w"] - 0.1 * gradient, state["w"]).astype(jnp.float16)
        return {"w": w, "scale": scale}

    return train_step, create, (), {}


@struct.dataclass
class Average:
    value: Any
    decay: float = struct.field(pytree_node=False, default=0.9)
    count: int = 0


@step("flax-struct-average")
def average():
    def update(state, x):
        value = jax.tree.map(lambda old, new: state.decay * old + (1 - state.decay) * new, state.value, x)
        return state.replace(value=value, count=state.count + 1)

    return update, lambda: Average({"w": jnp.zeros(3)}), ({"w": jnp.ones(3)},), {}


@step("linen-lstm-cell")
def linen_lstm():
    cell = nn.OptimizedLSTMCell(4)
    carry = cell.initialize_carry(jax.random.key(0), (3,))
    variables = cell.init(jax.random.key(1), carry, jnp.ones(3))
    return lambda carry, x: cell.apply(variables, carry, x)[0], carry, (jnp.ones(3),), {}


# --- flax.nnx ----------------------------------------------------------------------------------------------


def nnx_update(optimizer, model, gradient):
    # Up to flax 0.10 an optimizer keeps its model.
    if hasattr(optimizer, "model"):
        optimizer.update(gradient)
    else:
        optimizer.update(model, gradient)


class Block(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)

    def __call__(self, x):
        return self.drop(nnx.relu(self.norm(self.inner(x))))


@family("nnx", {"sgd": optax.sgd, "adam": optax.adam, "rmsprop": optax.rmsprop})
def nnx_training(make_tx):
    """A model and its optimizer, changed in place."""

    def create():
        model = Block(nnx.Rngs(0))
        return model, nnx.Optimizer(model, make_tx(1e-2), wrt=nnx.Param)

    @nnx.jit
    def train_step(model, optimizer, x):
        gradient = nnx.grad(lambda model: jnp.sum(model(x) ** 2))(model)
        nnx_update(optimizer, model, gradient)

    return train_step, create, (INPUTS,), {"state_argnum": (0, 1)}


class Counted(nnx.Module):
    def __init__(self, count):
        self.w = nnx.Param(jnp.ones(3))
        self.count = count


@family(
    "nnx-counter",
    {
        "attribute": lambda: 0,
        "variable": lambda: nnx.Variable(jnp.zeros((), jnp.int32)),
        "weak-variable": lambda: nnx.Variable(jnp.asarray(0)),
    },
)
def nnx_counter(make_count):
    """A count in a Python attribute, and in a Variable."""

    @nnx.jit
    def count_step(module):
        if isinstance(module.count, nnx.Variable):
            module.count.value = module.count.value + 1
        else:
            module.count += 1

    return count_step, lambda: Counted(make_count()), (), {}


# --- equinox -----------------------------------------------------------------------------------------------

EQX_LAYERS = {
    "mlp": lambda key: eqx.nn.MLP(3, 2, 4, 1, key=key),
    "linear": lambda key: eqx.nn.Linear(3, 2, key=key),
    "sequential": lambda key: eqx.nn.Sequential([eqx.nn.Linear(3, 3, key=key), eqx.nn.Lambda(jnp.tanh)]),
    "layer-norm": lambda key: eqx.nn.LayerNorm(3),
    "weak-scale": lambda key: WeakScale(jnp.asarray(1.0), eqx.nn.Linear(3, 2, key=key)),
}


class WeakScale(eqx.Module):
    scale: jax.Array
    inner: eqx.nn.Linear

    def __call__(self, x):
        return self.scale * self.inner(x)


@family("equinox", EQX_LAYERS)
def equinox_training(make):
    """A module and its optimizer's state under filter_jit."""
    tx = optax.adam(1e-2)
    model = make(jax.random.key(0))
    state = model, tx.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def train_step(state, x):
        model, opt_state = state
        gradient = eqx.filter_grad(lambda model: square(jax.vmap(model)(x)))(model)
        updates, opt_state = tx.update(gradient, opt_state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), opt_state

    return train_step, state, (INPUTS,), {}


class Tally(eqx.Module):
    total: jax.Array
    steps: Any


@family(
    "equinox-counter", {"int": lambda: 0, "array": lambda: jnp.zeros((), jnp.int32), "weak": lambda: jnp.asarray(0)}
)
def equinox_counter(make_count):
    """A count that is static, and one that is not."""
    tally = eqx.filter_jit(lambda tally, x: Tally(tally.total + x, tally.steps + 1))
    return tally, Tally(jnp.zeros(2), make_count()), (jnp.ones(2),), {}


@step("equinox-gru")
def equinox_gru():
    cell = eqx.nn.GRUCell(3, 4, key=jax.random.key(0))
    return lambda hidden, x: cell(x, hidden), jnp.zeros(4), (jnp.ones(3),), {}


# --- optax -------------------------------------------------------------------------------------------------

WRAPPED = {
    "multi-steps": lambda: optax.MultiSteps(optax.adam(1e-2), 2),
    "apply-if-finite": lambda: optax.apply_if_finite(optax.sgd(0.1), 3),
    "inject": lambda: optax.inject_hyperparams(optax.adam)(learning_rate=1e-2),
    "inject-schedule": lambda: optax.inject_hyperparams(optax.sgd)(optax.cosine_decay_schedule(0.1, 10)),
    "masked": lambda: optax.masked(optax.adam(1e-2), {"w": True, "b": False}),
    "partition": lambda: optax.multi_transform(
        {"fast": optax.sgd(0.1), "slow": optax.adam(1e-3)}, {"w": "fast", "b": "slow"}
    ),
    "chain": lambda: optax.chain(
        optax.clip_by_global_norm(1.0), optax.adamw(optax.warmup_cosine_decay_schedule(0, 1, 5, 9))
    ),
    "schedule-free": lambda: optax.contrib.schedule_free(optax.sgd(0.1), learning_rate=0.1),
    "noise": lambda: optax.add_noise(0.1, 0.5, 0),
    "plateau": lambda: optax.chain(optax.sgd(0.1), optax.contrib.reduce_on_plateau()),
}


@family("optax", WRAPPED)
def optax_training(make_tx):
    """Parameters and the state of a wrapped or chained transform."""
    tx = make_tx()

    def create():
        params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
        return {"params": params, "opt_state": tx.init(params)}

    def train_step(state):
        value, gradient = jax.value_and_grad(square)(state["params"])
        extra = {"value": value} if "ExtraArgs" in type(tx).__name__ else {}
        updates, opt_state = tx.update(gradient, state["opt_state"], state["params"], **extra)
        return {"params": optax.apply_updates(state["params"], updates), "opt_state": opt_state}

    return train_step, create, (), {}


@step("optax-lookahead")
def lookahead():
    tx = optax.lookahead(optax.sgd(0.1), sync_period=3, slow_step_size=0.5)

    def create():
        params = optax.LookaheadParams.init_synced({"w": jnp.ones(3)})
        return params, tx.init(params)

    def train_step(state):
        params, opt_state = state
        updates, opt_state = tx.update(jax.grad(square)(params.fast), opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    return train_step, create, (), {}


@step("optax-average-of-params")
def ema_of_params():
    def create():
        params = {"w": jnp.ones(3)}
        return {"params": params, "ema": params}

    def train_step(state):
        params = jax.tree.map(lambda p: 0.9 * p, state["params"])
        return {"params": params, "ema": optax.incremental_update(params, state["ema"], 0.1)}

    return train_step, create, (), {"donate": 0}


# --- jax's own, chex, by hand --------------------------------------------------------------------------------

OPTIMIZERS = {
    "sgd": lambda: optimizers.sgd(0.1),
    "momentum": lambda: optimizers.momentum(0.1, 0.9),
    "nesterov": lambda: optimizers.nesterov(0.1, 0.9),
    "adagrad": lambda: optimizers.adagrad(0.1),
    "rmsprop": lambda: optimizers.rmsprop(0.1),
    "adam": lambda: optimizers.adam(0.1),
    "adamax": lambda: optimizers.adamax(0.1),
}


@family("jax-example", OPTIMIZERS)
def example(make):
    """The optimizers of jax.example_libraries, counted from outside."""
    init, update, get_params = make()
    params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
    return lambda state, i: update(i, jax.grad(square)(get_params(state)), state), lambda: init(params), (0,), {}


@chex.dataclass
class EnvState:
    position: Any
    time: Any
    key: Any


@family("chex", {"strong": lambda: jnp.zeros((), jnp.int32), "python": lambda: 0, "float": lambda: jnp.asarray(0.0)})
def chex_environment(make_time):
    """An environment's state."""

    def reset(key):
        return EnvState(position=jnp.zeros(2), time=make_time(), key=key)

    def turn(state, action):
        key, draw = jax.random.split(state.key)
        position = state.position + action + jax.random.normal(draw, (2,))
        return EnvState(position=position, time=state.time + jnp.ones_like(state.time), key=key), position.sum()

    return turn, lambda: reset(jax.random.key(0)), (jnp.ones(2),), {}


@step("two-arguments")
def two_arguments():
    tx = optax.adam(1e-2)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def train_step(params, opt_state, x):
        loss, gradient = jax.value_and_grad(lambda params: jnp.mean((x @ params["w"]) ** 2))(params)
        updates, opt_state = tx.update(gradient, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    def create():
        params = {"w": jnp.ones((3, 2))}
        return params, tx.init(params)

    return train_step, create, (INPUTS,), {"state_argnum": (0, 1)}


@step("newton-by-scan")
def newton():
    def improve(x):
        return jax.lax.scan(lambda x, _: (x - jnp.tanh(x) / (1 - jnp.tanh(x) ** 2), None), x, None, length=3)[0]

    return improve, jnp.full((3,), 0.1), (), {}


@step("metropolis")
def metropolis():
    def sample(state):
        key, propose, accept = jax.random.split(state["key"], 3)
        new = state["x"] + jax.random.normal(propose, state["x"].shape)
        is_better = jnp.log(jax.random.uniform(accept)) < square(state["x"]) - square(new)
        return {
            "key": key,
            "x": jnp.where(is_better, new, state["x"]),
            "accepted": state["accepted"] + is_better,
        }

    return sample, lambda: {"key": jax.random.PRNGKey(0), "x": jnp.zeros(3), "accepted": 0}, (), {}
