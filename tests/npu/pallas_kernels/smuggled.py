"""Takes over its own sandbox, and sends something other than a traced function."""

import os
import pickle

import jax
from jax.experimental import pallas as pl

import kernelmill.backends.pallas.tracing as tracing


class Attack:
    def __reduce__(self):
        return os.getpid, ()


tracing.serialize_jaxpr = lambda closed: pickle.dumps(Attack())


def kernel(x_ref, y_ref):
    y_ref[...] = 2.0 * x_ref[...]


class ModelNew:
    def forward(self, state, x):
        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)
