import torch
import torch.nn as nn
import triton
import triton.language as tl

CORES = 40


# Many short rows at once: a block of rows is one copy, and each reduction one instruction.
@triton.jit
def layer_norm_kernel(
    x, weight, bias, y, rows, columns, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    column = tl.arange(0, BLOCK)[None, :]
    known = column < columns
    scale = tl.load(weight + column, mask=known, other=0.0)
    shift = tl.load(bias + column, mask=known, other=0.0)
    for first in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)[:, None]
        inside = (row < rows) & known
        value = tl.load(x + row * columns + column, mask=inside, other=0.0)
        mean = tl.sum(value, axis=1) / columns
        centred = tl.where(known, value - mean[:, None], 0.0)
        variance = tl.sum(centred * centred, axis=1) / columns
        norm = centred * (1.0 / tl.sqrt(variance + eps))[:, None]
        tl.store(y + row * columns + column, norm * scale + shift, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        columns = x.shape[-1]
        rows = x.numel() // columns
        block = triton.next_power_of_2(columns)
        height = max(1, min(4096 // block, rows))
        height = triton.next_power_of_2(height)
        programs = min(CORES, triton.cdiv(rows, height))
        layer_norm_kernel[(programs,)](
            x, self.norm.weight, self.norm.bias, y, rows, columns, self.norm.eps,
            ROWS=height, BLOCK=block,
        )  # fmt: skip
        return y
