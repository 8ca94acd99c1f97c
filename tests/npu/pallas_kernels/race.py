"""Uses a buffer without waiting for the copy into it. Sometimes the results are right."""

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, y_ref, buffer, arrived, left):
    fetch = pltpu.make_async_copy(x_ref, buffer, arrived)
    fetch.start()
    buffer[...] = 2.0 * buffer[...]
    fetch.wait()
    store = pltpu.make_async_copy(buffer, y_ref, left)
    store.start()
    store.wait()


def copy(x_ref, y_ref):
    y_ref[...] = x_ref[...]


class ModelNew:
    def forward(self, state, x):
        anywhere = pl.BlockSpec(memory_space=pl.ANY)
        shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
        y = pl.pallas_call(
            kernel,
            in_specs=[anywhere],
            out_specs=anywhere,
            out_shape=shape,
            scratch_shapes=[
                pltpu.VMEM(x.shape, x.dtype),
                pltpu.SemaphoreType.DMA,
                pltpu.SemaphoreType.DMA,
            ],
        )(x)
        return pl.pallas_call(copy, out_shape=shape)(y)
