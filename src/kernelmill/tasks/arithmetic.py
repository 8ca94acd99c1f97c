"""PyTorch set to one of the numerics. Used inside sandboxes only."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from kernelmill.records.numerics import Numerics

_AUTOCAST_TYPE = torch.float16


def set_arithmetic(numerics: Numerics, device: str) -> None:
    """Compute with these numerics from now on, on all devices of a type."""
    torch.backends.cudnn.allow_tf32 = numerics.rounds_convolutions
    torch.backends.cuda.matmul.allow_tf32 = numerics.rounds_products
    torch.set_autocast_dtype(device, _AUTOCAST_TYPE)
    # It would keep rounded copies of parameters, whose values change from call to call.
    torch.set_autocast_cache_enabled(False)
    torch.set_autocast_enabled(device, numerics is Numerics.HALF)


@contextmanager
def arithmetic(numerics: Numerics, device: str, afterwards: Numerics) -> Iterator[None]:
    """Compute with these numerics for a while."""
    set_arithmetic(numerics, device)
    try:
        yield
    finally:
        set_arithmetic(afterwards, device)
