import torch
import torch.nn as nn
import triton
import triton.language as tl


# Rows are short: a program takes several of them, so that it has enough to load at once.
@triton.jit
def layer_norm_kernel(
    x, weight, bias, y, rows, columns, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.arange(0, BLOCK)[None, :]
    inside = (row < rows) & (column < columns)
    value = tl.load(x + row * columns + column, mask=inside, other=0.0)
    mean = tl.sum(value, axis=1)[:, None] / columns
    centred = tl.where(column < columns, value - mean, 0.0)
    variance = tl.sum(centred * centred, axis=1)[:, None] / columns
    gain = tl.load(weight + column, mask=column < columns)
    shift = tl.load(bias + column, mask=column < columns)
    result = centred / tl.sqrt(variance + eps) * gain + shift
    tl.store(y + row * columns + column, result, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        rows, columns = x.shape
        block = triton.next_power_of_2(columns)
        group = max(1, 4096 // block)
        layer_norm_kernel[(triton.cdiv(rows, group),)](
            x,
            self.norm.weight,
            self.norm.bias,
            y,
            rows,
            columns,
            self.norm.eps,
            ROWS=group,
            BLOCK=block,
        )
        return y
