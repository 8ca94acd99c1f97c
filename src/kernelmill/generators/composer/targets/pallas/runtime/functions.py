"""Functions that kernels and their hosts call. Copied into candidates, one by one."""

import math

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl


def dividing(size, most):
    """A block of whole tiles, not much shorter than `most`, that leaves no rest; else `most`."""
    unit = 128 if most % 128 == 0 else 8
    for block in range(most, most // 2, -unit):
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


def cosh(x):
    return 0.5 * (jnp.exp(x) + jnp.exp(-x))


def sinh(x):
    grown = expm1(jnp.abs(x))
    return sign(x) * 0.5 * (grown + grown / (grown + 1.0))


def trunc(x):
    return jnp.where(x < 0, jnp.ceil(x), jnp.floor(x))


def hardsigmoid(x):
    return jnp.minimum(jnp.maximum(x + 3.0, 0.0), 6.0) * (1.0 / 6.0)


def softplus(x, beta, threshold):
    scaled = x * beta
    smooth = jnp.maximum(scaled, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(scaled)))
    return jnp.where(scaled > threshold, x, smooth / beta)


def hardswish(x):
    return x * hardsigmoid(x)


def logsigmoid(x):
    return -softplus(-x, 1.0, 20.0)


def mish(x):
    return x * jnp.tanh(softplus(x, 1.0, 20.0))


def sign(x):
    return jnp.where(x > 0, 1.0, jnp.where(x < 0, -1.0, 0.0))


def fold_along(function, x, axes):
    """One axis after the other: rounding grows less, and lanes are folded last."""
    for axis in axes:
        x = function(x, axis=axis, keepdims=True)
    return x


def product_of(x, axis, keepdims=True):
    """Halves times halves: there is no such fold in hardware."""
    rest = []
    while x.shape[axis] > 1:
        half = x.shape[axis] // 2
        if x.shape[axis] % 2:
            rest.append(lax.slice_in_dim(x, 2 * half, 2 * half + 1, axis=axis))
        left = lax.slice_in_dim(x, 0, half, axis=axis)
        x = left * lax.slice_in_dim(x, half, 2 * half, axis=axis)
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
    shift = jnp.clip(largest, -3.4e38, 3.4e38)  # infinity minus itself would be NaN
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
    """The matrix unit rounds what it is given."""
    return dot_general(left, right, along_left, along_right, batched, lax.Precision.DEFAULT)


def dot_bf16x3(left, right, along_left, along_right, batched):
    """The high halves, and each with the other's low half."""
    tops = [high_half(side) for side in (left, right)]
    rests = [side - top for side, top in zip((left, right), tops, strict=True)]
    along = along_left, along_right, batched
    small = dot_bf16(tops[0], rests[1], *along) + dot_bf16(rests[0], tops[1], *along)
    return small + dot_bf16(tops[0], tops[1], *along)


def high_half(x):
    """As a float still: rounded to as many bits as the matrix unit looks at."""
    bits = lax.bitcast_convert_type(x, jnp.int32) + 32768
    return lax.bitcast_convert_type(bits & -65536, jnp.float32)


def phased(x, sizes, slides):
    """Pad, and bring together what lies a stride apart: [n, phase, c, ...]."""
    strides = [slide[1] for slide in slides]
    edges = [(0, 0, 0), (0, 0, 0)]
    for size, step, slide, old in zip(sizes, strides, slides, x.shape[2:], strict=True):
        edges.append((slide[2], size * step - old - slide[2], 0))
    x = lax.pad(x, jnp.zeros((), x.dtype), edges)
    split = [part for pair in zip(sizes, strides, strict=True) for part in pair]
    x = x.reshape(*x.shape[:2], *split)
    rank = len(slides)
    places = range(2, 2 + 2 * rank, 2)
    order = [0, *(place + 1 for place in places), 1, *places]
    x = jnp.transpose(x, order)
    return x.reshape(x.shape[0], math.prod(strides), x.shape[1 + rank], *sizes)


def convolve(dot, images, weights, places, slides, groups):
    """Each image flat, so that a window is a shift: lines keep their length until the end."""
    strides = [slide[1] for slide in slides]
    taps = []
    for tap in every([slide[0] for slide in slides]):
        at = [one * slide[3] for one, slide in zip(tap, slides, strict=True)]
        taps.append(
            (
                ravel([one % step for one, step in zip(at, strides, strict=True)], strides),
                [one // step for one, step in zip(at, strides, strict=True)],
            )
        )
    if math.prod(strides) == 1:
        images = images.reshape(images.shape[0], 1, *images.shape[1:])
    return jnp.concatenate(
        [
            convolve_flat(dot, images[number], weights, places, taps, groups)[None]
            for number in range(images.shape[0])
        ]
    )


def every(sizes):
    """All indices of a small shape, in order."""
    found = [()]
    for size in sizes:
        found = [(*index, one) for index in found for one in range(size)]
    return found


def ravel(at, sizes):
    place = 0
    for one, size in zip(at, sizes, strict=True):
        place = place * size + one
    return place


def convolve_flat(dot, planes, weights, places, taps, groups):
    """planes[phase, c, ...] under weights[o, tap * c]: sums over taps (phase, offsets).

    No groups: every channel is on its own.
    """
    phases, channels, *sizes = planes.shape
    length = places[0] * math.prod(sizes[1:])
    flat = [planes[phase].reshape(channels, -1) for phase in range(phases)]
    starts = [(phase, ravel(offsets, sizes)) for phase, offsets in taps]
    shifts = [flat[phase][:, start : start + length] for phase, start in starts]
    if groups == 0:
        rows = [sum(weights[:, tap : tap + 1] * x for tap, x in enumerate(shifts))]
    else:
        outputs, width = weights.shape[0] // groups, channels // groups
        rows = [
            sum_of_products(
                dot,
                weights[group * outputs : (group + 1) * outputs],
                [x[group * width : (group + 1) * width] for x in shifts],
            )
            for group in range(groups)
        ]
    flat_out = jnp.concatenate(rows) if len(rows) > 1 else rows[0]
    out = flat_out.reshape(flat_out.shape[0], places[0], *sizes[1:])
    for axis, size in enumerate(places[1:], 2):
        out = lax.slice_in_dim(out, 0, size, axis=axis)
    return out


def sum_of_products(dot, weights, shifts):
    """A few shifts at a time, one above the other: a deep product is a fast one."""
    width = shifts[0].shape[0]
    many = max(1, 512 // width)
    total = None
    for first in range(0, len(shifts), many):
        some = shifts[first : first + many]
        patches = jnp.concatenate(some) if len(some) > 1 else some[0]
        own = weights[:, first * width : (first + len(some)) * width]
        part = dot(own, patches, 1, 0, False)
        total = part if total is None else total + part
    return total


def deconvolve(dot, images, weights, places, slides, groups):
    """Outputs of one phase of the stride meet the same taps, and only those."""
    return jnp.concatenate(
        [
            deconvolve_image(dot, images[number], weights, places, slides, groups)[None]
            for number in range(images.shape[0])
        ]
    )


def deconvolve_image(dot, image, weights, places, slides, groups):
    channels = image.shape[0] // groups if groups else 1
    sizes = [-(-place // slide[1]) for place, slide in zip(places, slides, strict=True)]
    reached = [offsets_of(slide) for slide in slides]
    low = [max([0, *(-at for at in axis.values())]) for axis in reached]
    high = [
        max([0, *(at + size - old for at in axis.values())])
        for axis, size, old in zip(reached, sizes, image.shape[1:], strict=True)
    ]
    high[0] += int(len(slides) > 1)
    image = jnp.pad(image, [(0, 0), *zip(low, high, strict=True)])
    whole = None
    for phase in every([slide[1] for slide in slides]):
        kernels = every([slide[0] for slide in slides])
        taps, columns = [], []
        for number, tap in enumerate(kernels):
            offsets = [axis.get((r, k)) for axis, r, k in zip(reached, phase, tap, strict=True)]
            if None not in offsets:
                taps.append((0, [at + edge for at, edge in zip(offsets, low, strict=True)]))
                columns.append(weights[:, number * channels : (number + 1) * channels])
        if not taps:
            continue
        own = jnp.concatenate(columns, axis=1) if len(columns) > 1 else columns[0]
        part = convolve_flat(dot, image[None], own, sizes, taps, groups)
        part = spread_out(part, places, [slide[1] for slide in slides], phase)
        whole = part if whole is None else whole + part
    return whole


def offsets_of(slide):
    """Where a tap reads, for the outputs of a phase: by (phase, tap)."""
    kernel, stride, pad, dilation = slide
    return {
        (phase, tap): (phase + pad - tap * dilation) // stride
        for phase in range(stride)
        for tap in range(kernel)
        if (phase + pad - tap * dilation) % stride == 0
    }


def spread_out(x, places, strides, phases):
    """Every stride-th place from a phase on, zeros between."""
    first = x.ndim - len(places)
    for axis, (place, stride, phase) in enumerate(zip(places, strides, phases, strict=True), first):
        if stride == 1:
            x = lax.slice_in_dim(x, 0, place, axis=axis)
            continue
        old = lax.broadcasted_iota(jnp.int32, (x.shape[axis], place), 0)
        new = lax.broadcasted_iota(jnp.int32, (x.shape[axis], place), 1)
        x = along(x, axis, (old * stride + phase == new).astype(jnp.float32))
    return x


def along(x, axis, matrix):
    """x times a matrix along one axis."""
    if axis == x.ndim - 1:
        return multiply(dot_highest, x, matrix.reshape((1,) * (x.ndim - 2) + matrix.shape))
    if axis == x.ndim - 2:
        lead = (1,) * (x.ndim - 2)
        return multiply(dot_highest, matrix.T.reshape(lead + matrix.T.shape), x)
    flat = x.reshape(*x.shape[: axis + 1], -1)
    flat = along(flat, axis, matrix)
    return flat.reshape(*flat.shape[: axis + 1], *x.shape[axis + 1 :])


def shares_along(x, axis, shares):
    """`along` for shares of elements: NaN and infinities reach only what they have a share in.

    Zero times infinity is NaN, so infinities are counted apart; NaN counts as both of them.
    """
    finite = jnp.where(jnp.abs(x) < jnp.inf, x, 0.0)
    above = along(jnp.where(x < jnp.inf, 0.0, 1.0), axis, shares)
    below = along(jnp.where(x > -jnp.inf, 0.0, 1.0), axis, shares)
    infinities = jnp.where(above > 0, jnp.inf, 0.0) + jnp.where(below > 0, -jnp.inf, 0.0)
    return along(finite, axis, shares) + infinities


def pool_sum(x, places, slides):
    """Along one axis after the other, as products with bands of ones."""
    first = x.ndim - len(places)
    for axis, (place, slide) in enumerate(zip(places, slides, strict=True), first):
        kernel, stride, pad, dilation = slide
        if (kernel, stride, pad) == (1, 1, 0):
            continue
        old = lax.broadcasted_iota(jnp.int32, (x.shape[axis], place), 0)
        new = lax.broadcasted_iota(jnp.int32, (x.shape[axis], place), 1)
        tap = old - new * stride + pad
        inside = (tap >= 0) & (tap < kernel * dilation)
        x = shares_along(x, axis, inside.astype(jnp.float32))
    return x


def pool_shares(x, places):
    """Means of windows [i * size / places, (i + 1) * size / places), rounded outwards."""
    first = x.ndim - len(places)
    for axis, place in enumerate(places, first):
        size = x.shape[axis]
        old = lax.broadcasted_iota(jnp.int32, (size, place), 0)
        new = lax.broadcasted_iota(jnp.int32, (size, place), 1)
        start, end = new * size // place, ((new + 1) * size + place - 1) // place
        inside = (old >= start) & (old < end)
        shares = jnp.where(inside, 1.0 / (end - start).astype(jnp.float32), 0.0)
        x = shares_along(x, axis, shares)
    return x


def pool_max(x, places, slides):
    """Along one axis after the other: shifts, then every stride-th place."""
    first = x.ndim - len(places)
    for axis, (place, slide) in enumerate(zip(places, slides, strict=True), first):
        kernel, stride, pad, dilation = slide
        if (kernel, stride, pad) == (1, 1, 0):
            continue
        dense = (place - 1) * stride + 1
        reach = dense + (kernel - 1) * dilation
        edges = [(0, 0)] * x.ndim
        edges[axis] = (pad, max(0, reach - x.shape[axis] - pad))
        x = jnp.pad(x, edges, constant_values=-jnp.inf)
        best = lax.slice_in_dim(x, 0, dense, axis=axis)
        for tap in range(1, kernel):
            start = tap * dilation
            best = jnp.maximum(best, lax.slice_in_dim(x, start, start + dense, axis=axis))
        x = best
        if stride > 1:
            old = lax.broadcasted_iota(jnp.int32, (dense, place), 0)
            new = lax.broadcasted_iota(jnp.int32, (dense, place), 1)
            x = shares_along(x, axis, (old == new * stride).astype(jnp.float32))
    return x
