"""Triton's interpreter, set up for machines without a GPU. Imported by the zygote."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from triton.runtime.autotuner import Autotuner

_patch_tensor = interpreter._patch_lang_tensor


def _patch_tensor_and_index(tensor: Any, scope: Any) -> None:
    """Triton 3.7 relies on a conversion of one-element arrays that NumPy no longer does."""
    _patch_tensor(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


interpreter._patch_lang_tensor = _patch_tensor_and_index


def _dot_with_bfloat16(builder: Any, a: Any, b: Any, *more: Any) -> Any:
    """Triton 3.7 stores bfloat16 as its bits in integers, and would multiply those."""
    return _dot(builder, _widened(a), _widened(b), *more)


def _widened(tensor: Any) -> Any:
    if tensor.dtype.scalar != tl.bfloat16:
        return tensor
    bits = tensor.data.astype(np.uint32) << 16
    return interpreter.TensorHandle(bits.view(np.float32), tl.float32)


_dot = interpreter.InterpreterBuilder.create_dot
interpreter.InterpreterBuilder.create_dot = _dot_with_bfloat16


interpreter.interpreter_builder.options = dataclasses.replace(
    # Triton 3.7 allows the last two on a device only. They make no difference to the interpreter.
    interpreter.interpreter_builder.options,
    allowed_dot_input_precisions=("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
)


def _equal_times(_tuner: Autotuner) -> Callable[..., list[float]]:
    """A benchmark that finds all configurations equal, since there is no device to time."""
    return lambda call, quantiles=None: [call() or 1.0] * 3


Autotuner.do_bench = property(_equal_times)
