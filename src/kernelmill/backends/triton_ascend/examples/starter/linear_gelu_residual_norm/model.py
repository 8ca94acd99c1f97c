import torch
import torch.nn as nn
import triton
import triton.language as tl

CORES = 40


# The product alone, on the cube cores: vector work on its tiles would go through global memory.
@triton.jit
def linear_kernel(x, weight, h, rows, features, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)
    column = tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, features, K):
        step = start + tl.arange(0, K)
        left = tl.load(
            x + row[:, None] * features + step[None, :],
            mask=(row[:, None] < rows) & (step[None, :] < features),
            other=0.0,
        )
        right = tl.load(
            weight + column[None, :] * features + step[:, None],
            mask=(column[None, :] < features) & (step[:, None] < features),
            other=0.0,
        )
        total = tl.dot(left, right, total, input_precision="ieee")
    inside = (row[:, None] < rows) & (column[None, :] < features)
    tl.store(h + row[:, None] * features + column[None, :], total, mask=inside)


# All that is pointwise, and the norm, while the rows are in the unified buffer.
@triton.jit
def gelu_residual_norm_kernel(
    h, x, bias, gain, y, rows, features, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    column = tl.arange(0, BLOCK)[None, :]
    known = column < features
    shift = tl.load(bias + column, mask=known, other=0.0)
    scale = tl.load(gain + column, mask=known, other=0.0)
    for first in range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS):
        row = first + tl.arange(0, ROWS)[:, None]
        inside = (row < rows) & known
        u = tl.load(h + row * features + column, mask=inside, other=0.0) + shift
        u = 0.5 * u * (1.0 + tl.erf(u * 0.7071067811865476))
        u += tl.load(x + row * features + column, mask=inside, other=0.0)
        mean = tl.sum(u * u, axis=1)[:, None] / features
        tl.store(y + row * features + column, u / tl.sqrt(mean + eps) * scale, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.RMSNorm(features, eps=eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.empty_like(x)
        y = torch.empty_like(x)
        rows, features = x.shape
        grid = (triton.cdiv(rows, 128), triton.cdiv(features, 128))
        linear_kernel[grid](x, self.linear.weight, h, rows, features, M=128, N=128, K=64)
        block = triton.next_power_of_2(features)
        height = max(1, 2048 // block)
        gelu_residual_norm_kernel[(min(CORES, triton.cdiv(rows, height)),)](
            h, x, self.linear.bias, self.norm.weight, y, rows, features, self.norm.eps,
            ROWS=height, BLOCK=block,
        )  # fmt: skip
        return y
