import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.max_pool2d_forward.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
_lib.max_pool2d_forward.restype = ctypes.c_int


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        batch, channels, height, width = x.shape
        rows, columns = (height - 1) // 2 + 1, (width - 1) // 2 + 1
        y = torch.empty(batch, channels, rows, columns, dtype=x.dtype, device=x.device)
        stream = torch.cuda.current_stream().cuda_stream
        status = _lib.max_pool2d_forward(
            x.data_ptr(), y.data_ptr(), batch * channels, height, width, stream
        )
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")
        return y
