"""Sorts, for which Mosaic has no instruction."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref):
    y_ref[...] = 2.0 * x_ref[...] + 0.0 * jnp.sort(x_ref[...], axis=-1)


class ModelNew:
    def forward(self, state, x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
