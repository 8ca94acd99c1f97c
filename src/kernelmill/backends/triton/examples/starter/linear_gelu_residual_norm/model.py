import torch
import torch.nn as nn
import triton
import triton.language as tl


# The product with its bias, GELU and residual in one kernel; the norm needs whole rows and comes
# behind it, while they are still in the cache.
@triton.jit
def linear_gelu_residual_kernel(
    x, weight, bias, h, rows, features, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr
):
    row = tl.program_id(1).to(tl.int64) * M + tl.arange(0, M)
    column = tl.program_id(0) * N + tl.arange(0, N)
    total = tl.zeros([M, N], tl.float32)
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
    u = total + tl.load(bias + column, mask=column < features, other=0.0)[None, :]
    u = 0.5 * u * (1.0 + tl.erf(u * 0.7071067811865476))
    places = row[:, None] * features + column[None, :]
    tl.store(h + places, u + tl.load(x + places, mask=inside, other=0.0), mask=inside)


@triton.jit
def rms_norm_kernel(h, gain, y, features, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < features
    value = tl.load(h + row * features + column, mask=inside, other=0.0)
    scale = 1.0 / tl.sqrt(tl.sum(value * value, axis=0) / features + eps)
    result = value * scale * tl.load(gain + column, mask=inside)
    tl.store(y + row * features + column, result, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.RMSNorm(features, eps=eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        h = torch.empty_like(x)
        y = torch.empty_like(x)
        rows, features = x.shape
        grid = (triton.cdiv(features, 128), triton.cdiv(rows, 128))
        linear_gelu_residual_kernel[grid](
            x,
            self.linear.weight,
            self.linear.bias,
            h,
            rows,
            features,
            M=128,
            N=128,
            K=16,
            num_warps=8,
            num_stages=3,
        )
        block = triton.next_power_of_2(features)
        rms_norm_kernel[(rows,)](
            h, self.norm.weight, y, features, self.norm.eps, BLOCK=block, num_warps=4
        )
        return y
