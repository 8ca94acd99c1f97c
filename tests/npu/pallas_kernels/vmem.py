"""A scratch buffer of 256 MiB."""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, y_ref, large_ref):
    large_ref[0] = 2.0 * x_ref[...]
    y_ref[...] = large_ref[0]


class ModelNew:
    def forward(self, state, x):
        rows, columns = x.shape
        return pl.pallas_call(
            kernel,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            scratch_shapes=[pltpu.VMEM(((1 << 26) // (rows * columns), rows, columns), x.dtype)],
        )(x)
