"""Small candidates for tests, made from parts."""

from kernelmill.records.candidate import Candidate, Origin

TASK = '''
"""Twice the input plus a bias."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        return 2 * x + self.bias


rows = 64
features = 256

HIDDEN = [{"rows": 3}, {"rows": 17}]


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features]
'''

MODEL = """
import ctypes
import pathlib

import torch
import torch.nn as nn

_lib = ctypes.CDLL(str(pathlib.Path(__file__).with_name("kernel.so")))
_lib.run.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 2
_lib.run.restype = None


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(features))

    def forward(self, x):
        out = torch.empty_like(x)
        _lib.run(x.data_ptr(), self.bias.data_ptr(), out.data_ptr(), x.shape[0], x.shape[1])
        return out
"""

KERNEL = """
#include <cstdint>

extern "C" void run(const float* x, const float* bias, float* out, int64_t rows, int64_t cols) {
#pragma omp parallel for
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c) out[r * cols + c] = 2 * x[r * cols + c] + bias[c];
}
"""


def candidate(
    model: tuple[str, str] | None = None, kernel: tuple[str, str] | None = None, **files: str
) -> Candidate:
    """The honest kernel, with one piece of text replaced in model.py or kernel.cpp."""

    def edited(text: str, change: tuple[str, str] | None) -> str:
        if change is None:
            return text
        assert change[0] in text
        return text.replace(*change)

    sources = {"model.py": edited(MODEL, model), "kernel.cpp": edited(KERNEL, kernel)}
    return Candidate({**sources, **files}, Origin.FILE, "test")
