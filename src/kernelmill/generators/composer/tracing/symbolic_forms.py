"""Functions of Python and torch in forms that keep sizes symbolic. Runs inside sandboxes only."""

import math
import operator
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import _meta_registrations


@contextmanager
def symbolic_forms() -> Iterator[None]:
    """Operators that would fix their sizes while they are traced, in forms that do not.

    The sizes of a pool up to torch 2.11 ask whether a window divides them, and say so afterwards.
    """
    with (
        mock.patch.object(math, "sqrt", _sqrt),
        mock.patch.object(math, "log", _log),
        mock.patch.object(torch, "linspace", _linspace),
        mock.patch.object(torch, "max_pool1d", _max_pool1d),
        mock.patch.object(torch, "take_along_dim", _take_along_dim),
        mock.patch.object(torch.Tensor, "take_along_dim", _take_along_dim),
        mock.patch.object(_meta_registrations, "div_rtn", operator.floordiv),
    ):
        yield


_plain_sqrt = math.sqrt
_plain_log = math.log
_plain_linspace = torch.linspace


def _sqrt(number: Any) -> Any:
    symbolic = isinstance(number, torch.SymInt | torch.SymFloat)
    return torch.sym_sqrt(number) if symbolic else _plain_sqrt(number)


def _log(number: Any, *base: Any) -> Any:
    """Of a size as a tensor: export knows no logarithm of a symbol."""
    symbolic = isinstance(number, torch.SymInt | torch.SymFloat)
    if not symbolic:
        return _plain_log(number, *base)
    natural = torch.full((), number, dtype=torch.float32).log()
    return natural / _plain_log(*base) if base else natural


def _linspace(start: Any, end: Any, steps: Any, **options: Any) -> torch.Tensor:
    symbolic = isinstance(steps, torch.SymInt)
    if not symbolic:
        return _plain_linspace(start, end, steps, **options)
    places = torch.arange(steps)
    step = (end - start) / (steps - 1)
    back = end - step * (steps - 1 - places)
    line = torch.where(places < steps // 2, start + step * places, back)
    return line.to(options.get("dtype") or torch.get_default_dtype())


def _max_pool1d(
    value: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> torch.Tensor:
    def pair(size: Any, first: int) -> list[int]:
        return [first, size[0] if isinstance(size, list | tuple) else size]

    step = kernel_size if stride in (None, [], ()) else stride
    lines = torch.max_pool2d(
        value.unsqueeze(-2), pair(kernel_size, 1), pair(step, 1), pair(padding, 0),
        pair(dilation, 1), ceil_mode,
    )  # fmt: skip
    return lines.squeeze(-2)


def _take_along_dim(
    value: torch.Tensor, indices: torch.Tensor, dim: int | None = None
) -> torch.Tensor:
    if dim is None:
        return torch.gather(value.reshape(-1), 0, indices.reshape(-1))
    axes = [axis for axis in range(value.dim()) if axis != dim % value.dim()]
    wide, places = list(value.shape), list(indices.shape)
    for axis in axes:
        wide[axis] = places[axis] = indices.shape[axis] if wide[axis] == 1 else wide[axis]
    return torch.gather(value.expand(wide), dim, indices.expand(places))
