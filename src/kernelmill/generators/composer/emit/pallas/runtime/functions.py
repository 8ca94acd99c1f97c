"""What kernels and their hosts call. Copied into candidates, function by function."""

import math

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def dividing(size, most):
    """The longest block of whole tiles, `most` at most, that leaves no rest; else `most`."""
    for block in range(min(size, most), 127, -128 if most % 128 == 0 else -8):
        if size % block == 0:
            return block
    return min(size, most)


def at_first(*axes):
    return sum(pl.program_id(axis) for axis in axes) == 0


def at_last(*axes):
    left = sum(pl.num_programs(axis) - 1 - pl.program_id(axis) for axis in axes)
    return left == 0


def within(x, axis, number, block, size, identity):
    """With the identity where a block reaches beyond the end."""
    if size % block == 0:
        return x
    places = lax.broadcasted_iota(jnp.int32, x.shape, axis) + pl.program_id(number) * block
    return jnp.where(places < size, x, identity)


def gelu(x):
    return 0.5 * x * (1.0 + lax.erf(x * 0.7071067811865476))


def gelu_tanh(x):
    return 0.5 * x * (1.0 + jnp.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def expm1(x):
    half = jnp.tanh(0.5 * x)
    return jnp.where(jnp.abs(x) < 0.5, 2.0 * half / (1.0 - half), jnp.exp(x) - 1.0)


def sign(x):
    return jnp.where(x > 0, 1.0, jnp.where(x < 0, -1.0, x))


def product_of(x, axis, keepdims):
    """Halves times halves: there is no such fold in hardware."""
    for one in axis:
        rest = []
        while x.shape[one] > 1:
            half = x.shape[one] // 2
            if x.shape[one] % 2:
                rest.append(lax.slice_in_dim(x, 2 * half, 2 * half + 1, axis=one))
            left = lax.slice_in_dim(x, 0, half, axis=one)
            x = left * lax.slice_in_dim(x, half, 2 * half, axis=one)
        for factor in rest:
            x = x * factor
    return x


def running_sum(x, axis, backwards):
    return running(lambda a, b: a + b, 0.0, x, axis, backwards)


def running_prod(x, axis, backwards):
    return running(lambda a, b: a * b, 1.0, x, axis, backwards)


def running_logaddexp(x, axis, backwards):
    return running(log_of_sum, -jnp.inf, x, axis, backwards)


def log_of_sum(a, b):
    largest = jnp.maximum(a, b)
    shift = jnp.where(largest == -jnp.inf, 0.0, largest)
    return shift + jnp.log(jnp.exp(a - shift) + jnp.exp(b - shift))


def running(join, identity, x, axis, backwards):
    """Twice as far in every step."""
    reach, size = 1, x.shape[axis]
    while reach < size:
        edge = jnp.full((*x.shape[:axis], reach, *x.shape[axis + 1 :]), identity, x.dtype)
        if backwards:
            moved = jnp.concatenate([lax.slice_in_dim(x, reach, size, axis=axis), edge], axis)
        else:
            moved = jnp.concatenate([edge, lax.slice_in_dim(x, 0, size - reach, axis=axis)], axis)
        x = join(x, moved)
        reach *= 2
    return x


def multiply(dot, left, right, turn_left=False, turn_right=False):
    """A matrix product over leading axes, which broadcast."""
    lead = jnp.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    count = math.prod(lead)
    if count == 1:
        flat = dot(left.reshape(left.shape[-2:]), right.reshape(right.shape[-2:]),
                   0 if turn_left else 1, 1 if turn_right else 0, False)  # fmt: skip
        return flat.reshape(*lead, *flat.shape)
    if math.prod(right.shape[:-2]) == 1 and not turn_left:
        rows = left.reshape(-1, left.shape[-1])
        flat = dot(rows, right.reshape(right.shape[-2:]), 1, 1 if turn_right else 0, False)
        return flat.reshape(*lead, left.shape[-2], flat.shape[-1])
    left, right = (
        jnp.broadcast_to(side, (*lead, *side.shape[-2:])).reshape(count, *side.shape[-2:])
        for side in (left, right)
    )
    many = dot(left, right, 1 if turn_left else 2, 2 if turn_right else 1, True)
    return many.reshape(*lead, *many.shape[1:])


def dot_general(left, right, along_left, along_right, batched, precision=None):
    batch = ((0,), (0,)) if batched else ((), ())
    return lax.dot_general(
        left,
        right,
        (((along_left,), (along_right,)), batch),
        precision=precision,
        preferred_element_type=jnp.float32,
    )


def dot_highest(left, right, along_left, along_right, batched):
    return dot_general(left, right, along_left, along_right, batched, lax.Precision.HIGHEST)


def dot_bf16(left, right, along_left, along_right, batched):
    left, right = left.astype(jnp.bfloat16), right.astype(jnp.bfloat16)
    return dot_general(left, right, along_left, along_right, batched)


def dot_bf16x3(left, right, along_left, along_right, batched):
    """The high halves, and each with the other's low half."""
    tops = [side.astype(jnp.bfloat16) for side in (left, right)]
    rests = [
        (side - top.astype(jnp.float32)).astype(jnp.bfloat16)
        for side, top in zip((left, right), tops, strict=True)
    ]
    along = along_left, along_right, batched
    small = dot_general(tops[0], rests[1], *along) + dot_general(rests[0], tops[1], *along)
    return small + dot_general(tops[0], tops[1], *along)
