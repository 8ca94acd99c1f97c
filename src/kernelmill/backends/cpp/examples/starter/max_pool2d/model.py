import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.max_pool2d_forward.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3
_lib.max_pool2d_forward.restype = None


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        y = torch.empty(batch, channels, (height - 1) // 2 + 1, (width - 1) // 2 + 1)
        _lib.max_pool2d_forward(x.data_ptr(), y.data_ptr(), batch * channels, height, width)
        return y
