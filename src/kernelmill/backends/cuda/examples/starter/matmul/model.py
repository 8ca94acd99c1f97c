import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.matmul_forward.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 3 + [ctypes.c_void_p]
_lib.matmul_forward.restype = ctypes.c_int


class ModelNew(nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a = a.contiguous()
        b = b.contiguous()
        m, k = a.shape
        n = b.shape[1]
        c = torch.empty(m, n, dtype=a.dtype, device=a.device)
        stream = torch.cuda.current_stream().cuda_stream
        status = _lib.matmul_forward(a.data_ptr(), b.data_ptr(), c.data_ptr(), m, n, k, stream)
        if status != 0:
            raise RuntimeError(f"CUDA error {status}")
        return c
