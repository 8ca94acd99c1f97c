import torch
import torch.nn as nn
import triton
import triton.language as tl

LONGEST = 4096


# A program walks along one row; what the blocks before it sum to is carried along.
@triton.jit
def cumsum_kernel(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    before = 0.0
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        inside = offsets < columns
        value = tl.load(x + row * columns + offsets, mask=inside, other=0.0)
        tl.store(y + row * columns + offsets, before + tl.cumsum(value, axis=0), mask=inside)
        before += tl.sum(value, axis=0)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        rows, columns = x.shape
        block = min(LONGEST, triton.next_power_of_2(columns))
        cumsum_kernel[(rows,)](x, y, columns, BLOCK=block)
        return y
