import torch
import torch.nn as nn
import triton
import triton.language as tl


# A program walks along one row; what the blocks before it sum to is carried along.
@triton.jit
def cumsum_kernel(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    before = tl.zeros([], tl.float32)
    for start in range(0, columns, BLOCK):
        inside = start + offsets < columns
        value = tl.load(x + row * columns + start + offsets, mask=inside, other=0.0)
        tl.store(
            y + row * columns + start + offsets, before + tl.cumsum(value, axis=0), mask=inside
        )
        before += tl.sum(value, axis=0)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        block = min(2048, triton.next_power_of_2(columns))
        cumsum_kernel[(rows,)](x, y, columns, BLOCK=block, num_warps=8)
        return y
