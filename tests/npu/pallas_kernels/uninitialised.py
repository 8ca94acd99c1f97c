"""Adds to a scratch buffer that was never cleared."""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, y_ref, sum_ref):
    sum_ref[...] += 2.0 * x_ref[...]
    y_ref[...] = sum_ref[...]


class ModelNew:
    def forward(self, state, x):
        return pl.pallas_call(
            kernel,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            scratch_shapes=[pltpu.VMEM(x.shape, x.dtype)],
        )(x)
