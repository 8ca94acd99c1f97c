import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.depthwise_conv2d_forward.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 4
_lib.depthwise_conv2d_forward.restype = None


class ModelNew(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        weight = self.conv.weight.contiguous()
        bias = self.conv.bias.contiguous()
        y = torch.empty_like(x)
        _lib.depthwise_conv2d_forward(
            x.data_ptr(), weight.data_ptr(), bias.data_ptr(), y.data_ptr(), *x.shape
        )
        return y
