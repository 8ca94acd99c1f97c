import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.cosine_embedding.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 2 + [ctypes.c_float]
_lib.cosine_embedding.restype = None


class ModelNew(nn.Module):
    def __init__(self, margin):
        super().__init__()
        self.margin = margin

    def forward(self, first, second, target):
        first, second, target = first.contiguous(), second.contiguous(), target.contiguous()
        out = torch.empty((), dtype=torch.float32)
        _lib.cosine_embedding(
            first.data_ptr(),
            second.data_ptr(),
            target.data_ptr(),
            out.data_ptr(),
            first.shape[0],
            first.shape[1],
            self.margin,
        )
        return out
