"""Core ATen operators, implemented in JAX. Used inside sandboxes only.

The outputs of every baseline are compared with those of its reference. A mistake here loses a
baseline, and cannot make one look faster than it is.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

JaxArray = Any
JaxFunction = Callable[..., Any]


def _unary(function: JaxFunction) -> JaxFunction:
    return lambda x: function(x)


def _typed(value: JaxArray, dtype: Any) -> JaxArray:
    return value if dtype is None else jnp.asarray(value).astype(dtype)


def _axes(dim: int | Sequence[int] | None) -> tuple[int, ...] | None:
    if dim is None or dim == []:
        return None
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _reduction(function: JaxFunction) -> JaxFunction:
    def reduce(x: JaxArray, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> JaxArray:
        return function(_typed(x, dtype), axis=_axes(dim), keepdims=keepdim)

    return reduce


def _position(function: JaxFunction) -> JaxFunction:
    return lambda x, dim=None, keepdim=False: function(x, axis=dim, keepdims=keepdim)


def _add(x: JaxArray, y: JaxArray, alpha: Any = 1) -> JaxArray:
    return jnp.add(x, y if alpha == 1 else y * alpha)


def _subtract(x: JaxArray, y: JaxArray, alpha: Any = 1) -> JaxArray:
    return jnp.subtract(x, y if alpha == 1 else y * alpha)


def _divide(x: JaxArray, y: JaxArray, rounding_mode: str | None = None) -> JaxArray:
    if rounding_mode == "floor":
        return jnp.floor_divide(x, y)
    return jnp.true_divide(x, y) if rounding_mode is None else lax.div(*jnp.broadcast_arrays(x, y))


def _addmm(bias: JaxArray, x: JaxArray, y: JaxArray, beta: Any = 1, alpha: Any = 1) -> JaxArray:
    product = x @ y
    product = product if alpha == 1 else alpha * product
    return product + (bias if beta == 1 else beta * bias)


def _clamp(x: JaxArray, low: Any = None, high: Any = None) -> JaxArray:
    return jnp.clip(x, low, high)


def _elu(x: JaxArray, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> JaxArray:
    return scale * jnp.where(x > 0, x, alpha * jnp.expm1(x * input_scale))


def _gelu(x: JaxArray, approximate: str = "none") -> JaxArray:
    return jax.nn.gelu(x, approximate=approximate == "tanh")


def _variance(
    x: JaxArray, dim: Any = None, correction: float | None = 1, keepdim: bool = False
) -> JaxArray:
    ddof = 1 if correction is None else correction
    return jnp.var(x, axis=_axes(dim), ddof=ddof, keepdims=keepdim)


def _vector_norm(
    x: JaxArray, order: float = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None
) -> JaxArray:
    x, axes = jnp.abs(_typed(x, dtype)), _axes(dim)
    if math.isinf(order):
        return (jnp.max if order > 0 else jnp.min)(x, axis=axes, keepdims=keepdim)
    if order == 1:
        return jnp.sum(x, axis=axes, keepdims=keepdim)
    if order == 2:
        return jnp.sqrt(jnp.sum(x * x, axis=axes, keepdims=keepdim))
    return jnp.sum(x**order, axis=axes, keepdims=keepdim) ** (1 / order)


def _normalised(
    x: JaxArray, axes: tuple[int, ...], eps: float
) -> tuple[JaxArray, JaxArray, JaxArray]:
    mean = jnp.mean(x, axis=axes, keepdims=True)
    rstd = lax.rsqrt(jnp.var(x, axis=axes, keepdims=True) + eps)
    return (x - mean) * rstd, mean, rstd


def _affine(x: JaxArray, weight: JaxArray, bias: JaxArray, shape: tuple[int, ...]) -> JaxArray:
    x = x if weight is None else x * weight.reshape(shape)
    return x if bias is None else x + bias.reshape(shape)


def _layer_norm(
    x: JaxArray, sizes: Sequence[int], weight: JaxArray, bias: JaxArray, eps: float
) -> Any:
    axes = tuple(range(x.ndim - len(sizes), x.ndim))
    y, mean, rstd = _normalised(x, axes, eps)
    return _affine(y, weight, bias, tuple(sizes)), mean, rstd


def _group_norm(
    x: JaxArray, weight: JaxArray, bias: JaxArray, n: int, c: int, _: int, groups: int, eps: float
) -> Any:
    y, mean, rstd = _normalised(x.reshape(n, groups, -1), (2,), eps)
    channels = (1, c, *([1] * (x.ndim - 2)))
    return _affine(y.reshape(x.shape), weight, bias, channels), mean, rstd


def _batch_norm(
    x: JaxArray, weight: JaxArray, bias: JaxArray, _: bool, __: float, eps: float
) -> Any:
    axes = (0, *range(2, x.ndim))
    y, mean, rstd = _normalised(x, axes, eps)
    return _affine(y, weight, bias, _by_channel(x)), mean, rstd


def _batch_norm_running(
    x: JaxArray,
    weight: JaxArray,
    bias: JaxArray,
    mean: JaxArray,
    variance: JaxArray,
    _: float,
    eps: float,
) -> Any:
    shape = _by_channel(x)
    y = (x - mean.reshape(shape)) * lax.rsqrt(variance.reshape(shape) + eps)
    return _affine(y, weight, bias, shape), None, None


def _by_channel(x: JaxArray) -> tuple[int, ...]:
    return (1, -1, *([1] * (x.ndim - 2)))


def _per_axis(values: Any, count: int) -> list[int]:
    listed: list[int] = [values] if isinstance(values, int) else list(values)
    return listed * count if len(listed) == 1 else listed


def _convolution(
    x: JaxArray, weight: JaxArray, bias: JaxArray, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int,
) -> JaxArray:  # fmt: skip
    sizes = weight.shape[2:]
    count = len(sizes)
    stride, padding, dilation, beyond = (
        _per_axis(values, count) for values in (stride, padding, dilation, output_padding)
    )
    axes = "DHW"[3 - count :]
    spec = (f"NC{axes}", f"OI{axes}", f"NC{axes}")
    if transposed:
        inputs, outputs = weight.shape[0] // groups, weight.shape[1]
        weight = weight.reshape(groups, inputs, outputs, *sizes).swapaxes(1, 2)
        weight = jnp.flip(weight.reshape(groups * outputs, inputs, *sizes), range(2, 2 + count))
        edges = [d * (k - 1) - p for d, k, p in zip(dilation, sizes, padding, strict=True)]
        pads = [(edge, edge + more) for edge, more in zip(edges, beyond, strict=True)]
        strides, spacing = [1] * count, stride
    else:
        pads, strides, spacing = [(p, p) for p in padding], stride, [1] * count
    y = lax.conv_general_dilated(
        x, weight, strides, pads, spacing, dilation, spec, feature_group_count=groups
    )
    return y if bias is None else y + bias.reshape(1, -1, *([1] * count))


def _windows(
    x: JaxArray, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool, count: int
) -> dict[str, Any]:
    """Arguments of a windowed reduction over the last axes."""
    kernel, padding, dilation = (_per_axis(v, count) for v in (kernel, padding, dilation))
    stride = _per_axis(stride, count) if stride else kernel
    ones = [1] * (x.ndim - count)
    pads = []
    for size, k, s, p, d in zip(x.shape[-count:], kernel, stride, padding, dilation, strict=True):
        span = d * (k - 1) + 1
        over = (size + 2 * p - span) % s
        more = (
            s - over if ceil_mode and over and (size + p + s - over - 1) // s * s < size + p else 0
        )
        pads.append((p, p + more))
    return {
        "window_dimensions": (*ones, *kernel),
        "window_strides": (*ones, *stride),
        "padding": [(0, 0)] * len(ones) + pads,
        "window_dilation": (*ones, *dilation),
    }


def _max_pool(count: int) -> JaxFunction:
    def pool(
        x: JaxArray, kernel: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> tuple[JaxArray, None]:  # fmt: skip
        windows = _windows(x, kernel, stride, padding, dilation, ceil_mode, count)
        return lax.reduce_window(x, -jnp.inf, lax.max, **windows), None

    return pool


def _average_pool(count: int) -> JaxFunction:
    def pool(
        x: JaxArray, kernel: Any, stride: Any = (), padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> JaxArray:  # fmt: skip
        windows = _windows(x, kernel, stride, padding, 1, ceil_mode, count)
        total = lax.reduce_window(x, 0.0, lax.add, **windows)
        if divisor_override:
            return total / divisor_override
        if count_include_pad and not ceil_mode:
            return total / math.prod(windows["window_dimensions"])
        ones = np.ones((1,) * (x.ndim - count) + x.shape[-count:], np.float32)
        if count_include_pad:
            edge = _per_axis(padding, count)
            ones = np.pad(
                ones, [(0, 0)] * (x.ndim - count) + [(p, p) for p in edge], constant_values=1
            )
            windows["padding"] = [
                (low - p, high - p)
                for (low, high), p in zip(
                    windows["padding"], [0] * (x.ndim - count) + edge, strict=True
                )
            ]
        return total / lax.reduce_window(jnp.asarray(ones), 0.0, lax.add, **windows)

    return pool


def _adaptive_average(x: JaxArray, sizes: Sequence[int]) -> JaxArray:
    for axis, wanted in zip(range(x.ndim - len(sizes), x.ndim), sizes, strict=True):
        size = x.shape[axis]
        weights = np.zeros((wanted, size), np.float32)
        for index in range(wanted):
            start, end = index * size // wanted, -(-(index + 1) * size // wanted)
            weights[index, start:end] = 1 / (end - start)
        x = jnp.moveaxis(jnp.tensordot(x, weights, axes=((axis,), (1,))), -1, axis)
    return x


def _running_maximum(x: JaxArray, dim: int) -> tuple[JaxArray, JaxArray]:
    axis = dim % x.ndim
    running = lax.cummax(x, axis)
    place = lax.broadcasted_iota(jnp.int32, x.shape, axis)
    return running, lax.cummax(jnp.where(x >= running, place, 0), axis)


def _top_k(
    x: JaxArray, k: int, dim: int = -1, largest: bool = True, _: bool = True
) -> tuple[JaxArray, JaxArray]:
    moved = jnp.moveaxis(x, dim, -1)
    values, places = lax.top_k(moved if largest else -moved, k)
    values = values if largest else -values
    return jnp.moveaxis(values, -1, dim), jnp.moveaxis(places, -1, dim)


def _gather(x: JaxArray, dim: int, index: JaxArray, sparse_grad: bool = False) -> JaxArray:
    return x[_along(x, dim, index)]


def _along(x: JaxArray, dim: int, index: JaxArray) -> tuple[JaxArray, ...]:
    places = [lax.broadcasted_iota(jnp.int32, index.shape, axis) for axis in range(index.ndim)]
    places[dim % x.ndim] = index
    return tuple(places)


def _scatter(x: JaxArray, dim: int, index: JaxArray, source: Any) -> JaxArray:
    source = source if jnp.ndim(source) == 0 else source[tuple(slice(n) for n in index.shape)]
    return x.at[_along(x, dim, index)].set(source)


def _scatter_add(x: JaxArray, dim: int, index: JaxArray, source: JaxArray) -> JaxArray:
    return x.at[_along(x, dim, index)].add(source[tuple(slice(n) for n in index.shape)])


def _index(x: JaxArray, indices: Sequence[JaxArray | None]) -> JaxArray:
    return x[_places(indices)]


def _index_put(
    x: JaxArray, indices: Sequence[JaxArray | None], values: JaxArray, accumulate: bool = False
) -> JaxArray:
    at = x.at[_places(indices)]
    return at.add(values) if accumulate else at.set(values)


def _places(indices: Sequence[JaxArray | None]) -> tuple[Any, ...]:
    return tuple(slice(None) if index is None else index for index in indices)


def _embedding(weight: JaxArray, index: JaxArray, *_: Any) -> JaxArray:
    return weight[index]


def _embedding_bag(
    weight: JaxArray, indices: JaxArray, offsets: JaxArray, _: bool = False, mode: int = 0,
    __: bool = False, per_sample: JaxArray = None, include_last: bool = False, ___: int = -1,
) -> tuple[JaxArray, None, None, None]:  # fmt: skip
    offsets = offsets[:-1] if include_last else offsets
    bag = jnp.searchsorted(offsets, jnp.arange(indices.shape[0]), side="right") - 1
    rows = weight[indices] if per_sample is None else weight[indices] * per_sample[:, None]
    bags = offsets.shape[0]
    if mode == 2:
        return jax.ops.segment_max(rows, bag, bags), None, None, None
    total = jax.ops.segment_sum(rows, bag, bags)
    if mode == 1:
        total = total / jnp.maximum(jax.ops.segment_sum(jnp.ones_like(bag), bag, bags), 1)[:, None]
    return total, None, None, None


def _arange(start: Any, end: Any, step: Any = 1, dtype: Any = None, **_: Any) -> JaxArray:
    return jnp.arange(start, end, step, dtype=dtype)


def _full(shape: Sequence[int], value: Any, dtype: Any = None, **_: Any) -> JaxArray:
    return jnp.full(shape, value, dtype=dtype)


def _full_like(x: JaxArray, value: Any, dtype: Any = None, **_: Any) -> JaxArray:
    return jnp.full(x.shape, value, dtype=dtype or x.dtype)


def _scalar(value: Any, dtype: Any = None, **_: Any) -> JaxArray:
    return jnp.asarray(value, dtype=dtype)


def _zeros(shape: Sequence[int], *_: Any, dtype: Any = None, **__: Any) -> JaxArray:
    return jnp.zeros(shape, dtype=dtype)


def _expand(x: JaxArray, sizes: Sequence[int], implicit: bool = False) -> JaxArray:
    ahead = len(sizes) - x.ndim
    shape = [x.shape[axis - ahead] if size == -1 else size for axis, size in enumerate(sizes)]
    return jnp.broadcast_to(x, shape)


def _slice(
    x: JaxArray, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> JaxArray:
    places = [slice(None)] * x.ndim
    places[dim] = slice(start, end, step)
    return x[tuple(places)]


def _select(x: JaxArray, dim: int, index: int) -> JaxArray:
    return lax.index_in_dim(x, index, dim % x.ndim, keepdims=False)


def _split(x: JaxArray, sizes: Sequence[int], dim: int = 0) -> JaxArray:
    return jnp.split(x, np.cumsum(sizes)[:-1].tolist(), axis=dim)


def _pad(x: JaxArray, pads: Sequence[int], value: Any = 0.0) -> JaxArray:
    """Pads the last axis first; a negative pad crops."""
    widths = [(0, 0, 0)] * x.ndim
    for index in range(len(pads) // 2):
        widths[x.ndim - 1 - index] = (pads[2 * index], pads[2 * index + 1], 0)
    return lax.pad(x, jnp.asarray(value, x.dtype), widths)


def _repeat(x: JaxArray, times: Sequence[int]) -> JaxArray:
    return jnp.tile(x.reshape((1,) * (len(times) - x.ndim) + x.shape), times)


def _copied(x: JaxArray, dtype: Any = None, **_: Any) -> JaxArray:
    return _typed(x, dtype)


def _getitem(values: Sequence[Any], index: int) -> Any:
    if values[index] is None:
        raise NotImplementedError("a part of a result that has no translation")
    return values[index]


_UNARY = {
    "abs": jnp.abs, "acos": jnp.arccos, "asin": jnp.arcsin, "atan": jnp.arctan,
    "bitwise_not": jnp.bitwise_not, "ceil": jnp.ceil, "cos": jnp.cos, "cosh": jnp.cosh,
    "erf": lax.erf, "exp": jnp.exp, "expm1": jnp.expm1, "floor": jnp.floor, "isinf": jnp.isinf,
    "isnan": jnp.isnan, "log": jnp.log, "log10": jnp.log10, "log1p": jnp.log1p, "log2": jnp.log2,
    "logical_not": jnp.logical_not, "neg": jnp.negative, "reciprocal": jnp.reciprocal,
    "relu": jax.nn.relu, "round": jnp.round, "rsqrt": lax.rsqrt, "sigmoid": jax.nn.sigmoid,
    "sign": jnp.sign, "sin": jnp.sin, "sinh": jnp.sinh, "sqrt": jnp.sqrt, "tan": jnp.tan,
    "tanh": jnp.tanh, "trunc": jnp.trunc, "detach": lambda x: x, "alias": lambda x: x,
}  # fmt: skip
_BINARY = {
    "bitwise_and": jnp.bitwise_and, "bitwise_or": jnp.bitwise_or, "bitwise_xor": jnp.bitwise_xor,
    "eq": jnp.equal, "ge": jnp.greater_equal, "gt": jnp.greater, "le": jnp.less_equal,
    "lt": jnp.less, "mul": jnp.multiply, "ne": jnp.not_equal, "pow": jnp.power,
    "remainder": jnp.remainder, "atan2": jnp.arctan2, "fmod": jnp.fmod,
}  # fmt: skip
OPERATORS: dict[str, JaxFunction] = {
    **{f"{name}.default": _unary(function) for name, function in _UNARY.items()},
    **{
        f"{name}.{form}": function
        for name, function in _BINARY.items()
        for form in ("Tensor", "Scalar", "Tensor_Scalar", "Tensor_Tensor", "default")
    },
    **{f"add.{form}": _add for form in ("Tensor", "Scalar")},
    **{f"sub.{form}": _subtract for form in ("Tensor", "Scalar")},
    **{f"div.{form}": _divide for form in ("Tensor", "Scalar", "Tensor_mode", "Scalar_mode")},
    "_adaptive_avg_pool2d.default": _adaptive_average,
    "_adaptive_avg_pool3d.default": _adaptive_average,
    "_embedding_bag.default": _embedding_bag,
    "_embedding_bag_forward_only.default": _embedding_bag,
    "_log_softmax.default": lambda x, dim, _: jax.nn.log_softmax(x, axis=dim),
    "_native_batch_norm_legit.no_stats": _batch_norm,
    "_native_batch_norm_legit_no_training.default": _batch_norm_running,
    "_softmax.default": lambda x, dim, _: jax.nn.softmax(x, axis=dim),
    "_to_copy.default": _copied,
    "addmm.default": _addmm,
    "amax.default": _reduction(jnp.max),
    "amin.default": _reduction(jnp.min),
    "any.default": _reduction(jnp.any),
    "any.dim": _reduction(jnp.any),
    "any.dims": _reduction(jnp.any),
    "arange.start_step": _arange,
    "argmax.default": _position(jnp.argmax),
    "argmin.default": _position(jnp.argmin),
    "avg_pool1d.default": _average_pool(1),
    "avg_pool2d.default": _average_pool(2),
    "avg_pool3d.default": _average_pool(3),
    "bmm.default": jnp.matmul,
    "cat.default": lambda parts, dim=0: jnp.concatenate(parts, axis=dim),
    "clamp.default": _clamp,
    "clamp.Tensor": _clamp,
    "clone.default": _copied,
    "constant_pad_nd.default": _pad,
    "convolution.default": _convolution,
    "cummax.default": _running_maximum,
    "cumprod.default": lambda x, dim, dtype=None: jnp.cumprod(_typed(x, dtype), axis=dim),
    "cumsum.default": lambda x, dim, dtype=None: jnp.cumsum(_typed(x, dtype), axis=dim),
    "elu.default": _elu,
    "embedding.default": _embedding,
    "empty.memory_format": _zeros,
    "empty_permuted.default": _zeros,
    "expand.default": _expand,
    "flip.default": lambda x, dims: jnp.flip(x, dims),
    "full.default": _full,
    "full_like.default": _full_like,
    "gather.default": _gather,
    "gelu.default": _gelu,
    "getitem": _getitem,
    "hardtanh.default": lambda x, low=-1.0, high=1.0: jnp.clip(x, low, high),
    "index.Tensor": _index,
    "index_put.default": _index_put,
    "index_select.default": lambda x, dim, index: jnp.take(x, index, axis=dim),
    "leaky_relu.default": lambda x, slope=0.01: jnp.where(x > 0, x, x * slope),
    "linalg_vector_norm.default": _vector_norm,
    "logcumsumexp.default": lambda x, dim: lax.cumlogsumexp(x, dim % x.ndim),
    "logical_and.default": jnp.logical_and,
    "logical_or.default": jnp.logical_or,
    "logical_xor.default": jnp.logical_xor,
    "max_pool2d_with_indices.default": _max_pool(2),
    "max_pool3d_with_indices.default": _max_pool(3),
    "maximum.default": jnp.maximum,
    "mean.default": lambda x, dtype=None: jnp.mean(_typed(x, dtype)),
    "mean.dim": _reduction(jnp.mean),
    "minimum.default": jnp.minimum,
    "mm.default": jnp.matmul,
    "native_group_norm.default": _group_norm,
    "native_layer_norm.default": _layer_norm,
    "permute.default": jnp.transpose,
    "pow.Scalar": jnp.power,
    "prod.default": lambda x, dtype=None: jnp.prod(_typed(x, dtype)),
    "prod.dim_int": _reduction(jnp.prod),
    "repeat.default": _repeat,
    "scalar_tensor.default": _scalar,
    "scatter.src": _scatter,
    "scatter.value": _scatter,
    "scatter_add.default": _scatter_add,
    "select.int": _select,
    "slice.Tensor": _slice,
    "split_with_sizes.default": _split,
    "squeeze.dims": lambda x, dims: jnp.squeeze(x, [d for d in dims if x.shape[d] == 1]),
    "sum.default": lambda x, dtype=None: jnp.sum(_typed(x, dtype)),
    "sum.dim_IntList": _reduction(jnp.sum),
    "topk.default": _top_k,
    "unsqueeze.default": jnp.expand_dims,
    "var.correction": _variance,
    "view.default": jnp.reshape,
    "where.self": jnp.where,
}
