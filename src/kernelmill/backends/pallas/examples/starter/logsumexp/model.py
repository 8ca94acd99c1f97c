"""Log of the sum of exponentials of every row; the results stand in a column until the end."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 128
HIGHEST = float(jnp.finfo(jnp.float32).max)


def kernel(x_ref, y_ref):
    x = x_ref[...]
    most = jnp.clip(jnp.max(x, axis=-1, keepdims=True), -HIGHEST, HIGHEST)  # inf - inf is NaN
    y_ref[...] = jnp.log(jnp.sum(jnp.exp(x - most), axis=-1, keepdims=True)) + most


class ModelNew:
    def forward(self, state, x):
        rows, columns = x.shape
        count = min(ROWS, rows)
        y = pl.pallas_call(
            kernel,
            grid=(pl.cdiv(rows, count),),
            in_specs=[pl.BlockSpec((count, columns), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((count, 1), lambda i: (i, 0)),
            out_shape=jax.ShapeDtypeStruct((rows, 1), x.dtype),
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
        )(x)
        return y.reshape(rows)
