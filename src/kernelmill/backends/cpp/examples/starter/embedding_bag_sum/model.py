import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.embedding_bag_sum_forward.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 3
_lib.embedding_bag_sum_forward.restype = None


class ModelNew(nn.Module):
    def __init__(self, entries: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(entries, features))

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        indices = indices.contiguous()
        weight = self.weight.contiguous()
        bags, bag = indices.shape
        features = weight.shape[1]
        y = torch.empty(bags, features)
        _lib.embedding_bag_sum_forward(
            weight.data_ptr(), indices.data_ptr(), y.data_ptr(), bags, bag, features
        )
        return y
