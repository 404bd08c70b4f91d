"""A scalar of an equinox model has no dtype; Adam's moments turn strong one after another."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

SOURCE = ()
PROBE = ("SL304",)
WRAP = eqx.filter_jit

optimizer = optax.adam(3e-2)


class Lens(eqx.Module):
    gain: jax.Array
    kernel: jax.Array

    def __call__(self, signal):
        return self.gain * jnp.convolve(signal, self.kernel, mode="same")


def fit(state, signal, wanted):
    lens, moments = state
    gradient = eqx.filter_grad(lambda lens: jnp.mean((lens(signal) - wanted) ** 2))(lens)
    change, moments = optimizer.update(gradient, moments, lens)
    return eqx.apply_updates(lens, change), moments


def start(gain):
    lens = Lens(gain, jnp.ones(3))
    return fit, (lens, optimizer.init(eqx.filter(lens, eqx.is_array))), (jnp.ones(8), jnp.zeros(8))


def make():
    return start(jnp.array(1.0))


def make_fixed():
    return start(jnp.ones((), jnp.float32))
