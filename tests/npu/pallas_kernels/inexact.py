"""Doubles by a product with 2 on the diagonal, which the matrix unit computes in bfloat16."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref):
    n = x_ref.shape[1]
    row = jax.lax.broadcasted_iota(jnp.int32, (n, n), 0)
    column = jax.lax.broadcasted_iota(jnp.int32, (n, n), 1)
    twice = jnp.where(row == column, 2.0, 0.0)
    y_ref[...] = jnp.dot(x_ref[...], twice, preferred_element_type=jnp.float32)


class ModelNew:
    def forward(self, state, x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
