"""A small task and its kernel, in parts that tests replace."""

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


rows = 8
features = 100

HIDDEN = [{"rows": 3}]


def get_inputs():
    return [torch.randn(rows, features)]


def get_init_inputs():
    return [features]
'''

KERNEL = """
#include <riscv_vector.h>

#include "kernelmill.h"

extern "C" void model_new(const Tensor* inputs, const Tensor* state, Tensor* outputs) {
    const int64_t rows = inputs[0].sizes[0], columns = inputs[0].sizes[1];
    const float* x = static_cast<const float*>(inputs[0].data);
    const float* bias = static_cast<const float*>(state[0].data);
    float* y = static_cast<float*>(outputs[0].data);
    for (int64_t row = 0; row < rows; row++, x += columns, y += columns)
        for (size_t vl, i = 0; i < size_t(columns); i += vl) {
            vl = __riscv_vsetvl_e32m4(columns - i);
            vfloat32m4_t v = __riscv_vle32_v_f32m4(x + i, vl);
            v = __riscv_vfadd(__riscv_vfmul(v, 2.0f, vl), __riscv_vle32_v_f32m4(bias + i, vl), vl);
            __riscv_vse32(y + i, v, vl);
        }
}
"""


def candidate(before: str = "", after: str = "") -> Candidate:
    """The honest kernel, with one piece of its text replaced."""
    assert before in KERNEL
    return Candidate({"kernel.cpp": KERNEL.replace(before, after, 1)}, Origin.FILE, "test")
