import jax
from jax.experimental import pallas as pl


def kernel(x_ref, y_ref):
    y_ref[...] = 2.0 * x_ref[...]


class ModelNew:
    def forward(self, state, x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
