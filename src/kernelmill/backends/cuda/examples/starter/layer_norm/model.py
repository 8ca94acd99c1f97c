import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.layer_norm_forward.argtypes = (
    [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 2 + [ctypes.c_float, ctypes.c_void_p]
)
_lib.layer_norm_forward.restype = ctypes.c_int


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        weight = self.norm.weight.contiguous()
        bias = self.norm.bias.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        status = _lib.layer_norm_forward(
            x.data_ptr(),
            weight.data_ptr(),
            bias.data_ptr(),
            y.data_ptr(),
            rows,
            columns,
            self.norm.eps,
            torch.cuda.current_stream().cuda_stream,
        )
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")
        return y
