"""Reads a row of blocks beyond the array."""

import jax
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref):
    beyond = pl.program_id(0) + x_ref.shape[0] // 8
    y_ref[...] = 2.0 * x_ref[...] + 0.0 * x_ref[pl.ds(pl.multiple_of(beyond * 8, 8), 8), :][:1]


class ModelNew:
    def forward(self, state, x):
        block = pl.BlockSpec(x.shape, lambda i: (0, 0))
        return pl.pallas_call(
            kernel,
            grid=(1,),
            in_specs=[block],
            out_specs=block,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        )(x)
