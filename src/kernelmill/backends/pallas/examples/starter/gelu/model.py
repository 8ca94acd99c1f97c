"""GELU of blocks of whole rows: every number is read once and written once."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 64


def kernel(x_ref, y_ref):
    x = x_ref[...]
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    y_ref[...] = 0.5 * x * (1.0 + jnp.tanh(inner))


class ModelNew:
    def forward(self, state, x):
        rows, columns = x.shape
        block = pl.BlockSpec((min(ROWS, rows), columns), lambda i: (i, 0))
        return pl.pallas_call(
            kernel,
            grid=(pl.cdiv(rows, ROWS),),
            in_specs=[block],
            out_specs=block,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
        )(x)
