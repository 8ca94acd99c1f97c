"""The framework's calls that a candidate may make, for a profile of their code.

Imported by the zygote, which by this also has the run-time libraries loaded that a compiler links
to kernels. Used inside sandboxes only.
"""

import ctypes
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from kernelmill.sandbox.channel import Channel

_RUN_TIME_LIBRARIES = (
    "libgomp.so.1", "libomp.so.5", "libiomp5.so", "libm.so.6", "libmvec.so.1", "libstdc++.so.6",
    "libgcc_s.so.1",
)  # fmt: skip
_SECONDS_PER_CALL = 0.012
"""Processor time, so that others on the machine do not matter."""
_ELEMENTS = 1 << 19
_SIDE = 704
_TYPES = (torch.float32, torch.float64, torch.int64, torch.bool)

for _name in _RUN_TIME_LIBRARIES:
    with suppress(OSError):  # a machine has those of its own compiler
        ctypes.CDLL(_name)


def run_allowed_calls(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Repeat the call that a message names for a while, then answer. An entry of the zygote."""
    torch.set_num_threads(arguments["threads"])
    torch.set_grad_enabled(False)
    calls = _calls()
    channel.receive()
    channel.send({"calls": list(calls)})
    while True:
        call = calls[channel.receive().body["do"]]
        deadline = time.thread_time() + _SECONDS_PER_CALL
        while time.thread_time() < deadline:
            call()
        channel.send({})


def _calls() -> dict[str, Callable[[], Any]]:
    flat = torch.empty(_ELEMENTS)
    calls: dict[str, Callable[[], Any]] = {
        "empty": lambda: torch.empty(64, 64),
        "empty_like": lambda: torch.empty_like(flat),
        "small zeros": lambda: torch.zeros(64, 8),
        "views": lambda: flat.view(-1, 64).t().unsqueeze(0).expand(2, 64, -1).reshape(2, 64, -1),
        "properties": lambda: (flat.contiguous().data_ptr(), flat.shape, flat.stride()),
    }
    for dtype in _TYPES:
        calls |= _calls_of_type(dtype)
    return calls


def _calls_of_type(dtype: torch.dtype) -> dict[str, Callable[[], Any]]:
    matrix = torch.zeros(_SIDE, _SIDE, dtype=dtype)
    volume = torch.zeros(8, 32, 48, 40, dtype=dtype)
    turned, inner = matrix.t(), volume.permute(0, 2, 3, 1)
    outer, narrow = volume.transpose(0, 1), matrix[:, 3:-5]
    row = matrix[:1].expand(_SIDE, _SIDE)
    strided = matrix[:, ::2]
    return {
        f"zeros {dtype}": lambda: torch.zeros(_ELEMENTS, dtype=dtype),
        f"clone {dtype}": matrix.clone,
        f"transposed {dtype}": turned.contiguous,
        f"channels last {dtype}": inner.contiguous,
        f"batches inside {dtype}": outer.contiguous,
        f"narrowed {dtype}": narrow.contiguous,
        f"expanded {dtype}": row.contiguous,
        f"strided {dtype}": strided.contiguous,
    }
