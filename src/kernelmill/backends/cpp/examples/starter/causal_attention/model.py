import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.causal_attention_forward.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 3
_lib.causal_attention_forward.restype = None


class ModelNew(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q = q.contiguous()
        k = k.contiguous()
        v = v.contiguous()
        batch, heads, length, dim = q.shape
        y = torch.empty(batch, heads, length, dim)
        _lib.causal_attention_forward(
            q.data_ptr(), k.data_ptr(), v.data_ptr(), y.data_ptr(), batch * heads, length, dim
        )
        return y
