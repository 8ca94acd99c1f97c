"""Blocks of four rows."""

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref):
    y_ref[...] = 2.0 * x_ref[...]


class ModelNew:
    def forward(self, state, x):
        rows, columns = x.shape
        block = pl.BlockSpec((4, columns), lambda i: (i, 0))
        return pl.pallas_call(
            kernel,
            grid=(pl.cdiv(rows, 4),),
            in_specs=[block],
            out_specs=block,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(x)
