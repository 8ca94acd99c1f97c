import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.local_response_norm.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 4
_lib.local_response_norm.restype = None


class ModelNew(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        batch, channels = x.shape[0], x.shape[1]
        pixels = x.shape[2] * x.shape[3]
        _lib.local_response_norm(x.data_ptr(), out.data_ptr(), batch, channels, pixels, self.size)
        return out
