import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.logsumexp_forward.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2
_lib.logsumexp_forward.restype = None


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, columns = x.shape
        y = torch.empty(rows)
        _lib.logsumexp_forward(x.data_ptr(), y.data_ptr(), rows, columns)
        return y
