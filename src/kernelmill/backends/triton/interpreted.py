"""Triton's interpreter, for machines without a GPU. Imported by the warm process."""

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
    """Numpy no longer makes a number of an array of one element, which Triton 3.6 asks for."""
    _patch_tensor(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))


interpreter._patch_lang_tensor = _patch_tensor_and_index


def _dot_of_floats(builder: Any, a: Any, b: Any, *more: Any) -> Any:
    """Triton 3.6 keeps bfloat16 as the integers of its bits, and would multiply those."""
    return _dot(builder, _widened(a), _widened(b), *more)


def _widened(tensor: Any) -> Any:
    if tensor.dtype.scalar != tl.bfloat16:
        return tensor
    bits = tensor.data.astype(np.uint32) << 16
    return interpreter.TensorHandle(bits.view(np.float32), tl.float32)


_dot = interpreter.InterpreterBuilder.create_dot
interpreter.InterpreterBuilder.create_dot = _dot_of_floats


interpreter.interpreter_builder.options = dataclasses.replace(
    # Triton 3.6 knows these on a device only; here a product of floats is exact whatever it says.
    interpreter.interpreter_builder.options,
    allowed_dot_input_precisions=("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"),
)


def _all_even(_tuner: Autotuner) -> Callable[..., list[float]]:
    """There is no device to take the time on: every configuration is as good as another."""
    return lambda call, quantiles=None: [call() or 1.0] * 3


Autotuner.do_bench = property(_all_even)
