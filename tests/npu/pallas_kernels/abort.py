"""Gathers through a flattened block: a check inside the compiler ends the process."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref):
    places = x_ref[...].astype(jnp.int32) % 8
    flat = x_ref[...].reshape(-1)
    y_ref[...] = flat[places.reshape(-1)].reshape(x_ref.shape)


class ModelNew:
    def forward(self, state, x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
