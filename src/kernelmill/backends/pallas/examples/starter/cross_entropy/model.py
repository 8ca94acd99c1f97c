"""Cross entropy of every row: the target's logit is picked by comparing lane numbers."""

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 128


def kernel(logits_ref, target_ref, loss_ref):
    logits = logits_ref[...]
    lane = jax.lax.broadcasted_iota(jnp.int32, logits.shape, 1)
    picked = jnp.sum(jnp.where(lane == target_ref[...], logits, 0.0), axis=-1, keepdims=True)
    most = jnp.max(logits, axis=-1, keepdims=True)
    total = jnp.sum(jnp.exp(logits - most), axis=-1, keepdims=True)
    loss_ref[...] = jnp.log(total) + most - picked


class ModelNew:
    def forward(self, state, logits, target):
        rows, classes = logits.shape
        count = min(ROWS, rows)
        column = pl.BlockSpec((count, 1), lambda i: (i, 0))
        loss = pl.pallas_call(
            kernel,
            grid=(pl.cdiv(rows, count),),
            in_specs=[pl.BlockSpec((count, classes), lambda i: (i, 0)), column],
            out_specs=column,
            out_shape=jax.ShapeDtypeStruct((rows, 1), logits.dtype),
            compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel",)),
        )(logits, target.reshape(rows, 1))
        return loss.reshape(rows)
