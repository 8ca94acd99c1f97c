import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.cross_entropy_forward.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
_lib.cross_entropy_forward.restype = None


class ModelNew(nn.Module):
    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        logits = logits.contiguous()
        target = target.contiguous()
        rows, classes = logits.shape
        loss = torch.empty(rows)
        _lib.cross_entropy_forward(
            logits.data_ptr(), target.data_ptr(), loss.data_ptr(), rows, classes
        )
        return loss
