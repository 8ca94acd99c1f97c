import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.gelu_forward.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64, ctypes.c_void_p]
_lib.gelu_forward.restype = ctypes.c_int


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        stream = torch.cuda.current_stream().cuda_stream
        status = _lib.gelu_forward(x.data_ptr(), y.data_ptr(), x.numel(), stream)
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")
        return y
