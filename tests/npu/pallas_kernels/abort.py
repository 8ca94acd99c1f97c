"""Copies from HBM into SMEM: the compiler's own profiler ends the process over it."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, y_ref, scalars, arrived):
    fetch = pltpu.make_async_copy(x_ref.at[pl.ds(0, 8), pl.ds(0, 128)], scalars, arrived)
    fetch.start()
    fetch.wait()
    y_ref[...] = jnp.full(y_ref.shape, scalars[0, 0])


class ModelNew:
    def forward(self, state, x):
        return pl.pallas_call(
            kernel,
            in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            scratch_shapes=[pltpu.SMEM((8, 128), x.dtype), pltpu.SemaphoreType.DMA],
        )(x)
