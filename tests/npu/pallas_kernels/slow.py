"""A product at full precision in one block: unrolled, it takes the compiler minutes."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref):
    ones = jnp.ones((2048, 1024), jnp.float32)
    wide = jnp.concatenate([x_ref[...]] * 8, axis=1)[:, :1024]
    much = jnp.concatenate([wide] * 64, axis=0)[:1024]
    product = jax.lax.dot_general(
        ones, much, (((1,), (1,)), ((), ())), precision=jax.lax.Precision.HIGHEST
    )
    y_ref[...] = 2.0 * x_ref[...] + 0.0 * product[: x_ref.shape[0], : x_ref.shape[1]]


class ModelNew:
    def forward(self, state, x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
