import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.cumsum_forward.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2
_lib.cumsum_forward.restype = None


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        _lib.cumsum_forward(x.data_ptr(), y.data_ptr(), rows, columns)
        return y
