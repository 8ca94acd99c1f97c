import torch
import torch.nn as nn
import triton
import triton.language as tl


# A row fits in registers: it is read once, and every step works on what is already there.
@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    values = tl.load(x + row * columns + offsets, mask=inside, other=float("-inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + offsets, values / tl.sum(values, axis=0), mask=inside)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        block = triton.next_power_of_2(columns)
        warps = min(16, max(1, block // 512))
        softmax_kernel[(rows,)](x, y, columns, BLOCK=block, num_warps=warps)
        return y
