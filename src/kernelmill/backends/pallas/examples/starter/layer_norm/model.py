"""Layer norm: rows in blocks, the affine part in the same pass."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 1024


def kernel(x_ref, weight_ref, bias_ref, y_ref):
    x = x_ref[...]
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean(centred * centred, axis=-1, keepdims=True)
    y_ref[...] = centred * jax.lax.rsqrt(variance + 1e-5) * weight_ref[...] + bias_ref[...]


class ModelNew:
    def __init__(self, features):
        self.features = features

    def forward(self, state, x):
        rows, columns = x.shape
        block = pl.BlockSpec((min(ROWS, rows), columns), lambda i: (i, 0))
        whole = pl.BlockSpec((1, columns), lambda i: (0, 0))
        weight = state["norm.weight"].reshape(1, columns)
        bias = state["norm.bias"].reshape(1, columns)
        return pl.pallas_call(
            kernel,
            grid=(pl.cdiv(rows, ROWS),),
            in_specs=[block, whole, whole],
            out_specs=block,
            out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
        )(x, weight, bias)
