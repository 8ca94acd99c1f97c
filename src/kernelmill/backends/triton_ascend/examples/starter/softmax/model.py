import torch
import torch.nn as nn
import triton
import triton.language as tl

CORES = 40


# A program for every core walks over rows; a row stays in the unified buffer.
@triton.jit
def softmax_kernel(x, y, rows, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        value = tl.load(x + row * columns + offsets, mask=inside, other=float("-inf"))
        exponential = tl.exp(value - tl.max(value, axis=0))
        result = exponential / tl.sum(exponential, axis=0)
        tl.store(y + row * columns + offsets, result, mask=inside)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        columns = x.shape[-1]
        rows = x.numel() // columns
        block = triton.next_power_of_2(columns)
        softmax_kernel[(min(CORES, rows),)](x, y, rows, columns, BLOCK=block)
        return y
