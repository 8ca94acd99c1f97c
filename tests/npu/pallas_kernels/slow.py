"""A product at full precision in one block: unrolled, it takes the compiler minutes."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def kernel(x_ref, y_ref, large_ref):
    large_ref[...] = jnp.broadcast_to(x_ref[:1, :1], large_ref.shape)
    large = large_ref[...]
    large_ref[...] = jnp.dot(large, large.T, precision=jax.lax.Precision.HIGHEST)
    y_ref[...] = 2.0 * x_ref[...] + 0.0 * large_ref[: x_ref.shape[0], : x_ref.shape[1]]


class ModelNew:
    def forward(self, state, x):
        return pl.pallas_call(
            kernel,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            scratch_shapes=[pltpu.VMEM((1024, 1024), x.dtype)],
            compiler_params=pltpu.CompilerParams(vmem_limit_bytes=100 << 20),
        )(x)
