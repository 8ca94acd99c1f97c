import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.logsumexp_forward.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] * 2 + [ctypes.c_void_p]
_lib.logsumexp_forward.restype = ctypes.c_int


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        rows, columns = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        stream = torch.cuda.current_stream().cuda_stream
        status = _lib.logsumexp_forward(x.data_ptr(), y.data_ptr(), rows, columns, stream)
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")
        return y
