import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.linear_gelu_residual_norm_forward.argtypes = (
    [ctypes.c_void_p] * 5 + [ctypes.c_int64] * 2 + [ctypes.c_float]
)
_lib.linear_gelu_residual_norm_forward.restype = None


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.RMSNorm(features, eps=eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        weight = self.linear.weight.contiguous()
        bias = self.linear.bias.contiguous()
        gain = self.norm.weight.contiguous()
        y = torch.empty_like(x)
        batch, features = x.shape
        _lib.linear_gelu_residual_norm_forward(
            x.data_ptr(),
            weight.data_ptr(),
            bias.data_ptr(),
            gain.data_ptr(),
            y.data_ptr(),
            batch,
            features,
            self.norm.eps,
        )
        return y
