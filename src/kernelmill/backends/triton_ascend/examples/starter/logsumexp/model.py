import torch
import torch.nn as nn
import triton
import triton.language as tl

CORES = 40


# A row stays in the unified buffer. An infinite maximum is not subtracted: inf - inf is NaN.
@triton.jit
def logsumexp_kernel(x, y, rows, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    inside = offsets < columns
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        value = tl.load(x + row * columns + offsets, mask=inside, other=float("-inf"))
        top = tl.max(value, axis=0)
        top = tl.where(tl.abs(top) == float("inf"), 0.0, top)
        total = tl.sum(tl.exp(value - top), axis=0)
        tl.store(y + row, top + tl.log(total))


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows, columns = x.shape
        y = torch.empty(rows, dtype=x.dtype, device=x.device)
        block = triton.next_power_of_2(columns)
        logsumexp_kernel[(min(CORES, rows),)](x, y, rows, columns, BLOCK=block)
        return y
