import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.softmax_forward.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_void_p]
_lib.softmax_forward.restype = ctypes.c_int


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        stream = torch.cuda.current_stream().cuda_stream
        status = _lib.softmax_forward(x.data_ptr(), y.data_ptr(), rows, columns, stream)
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")
        return y
