import torch
import torch.nn as nn
import triton
import triton.language as tl


# A block of a plane per program: the filter is nine scalars, the neighbours are in the cache.
@triton.jit
def depthwise_conv2d_kernel(x, weight, bias, y, channels, height, width, BLOCK: tl.constexpr):
    plane = tl.program_id(0).to(tl.int64)
    channel = plane % channels
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < height * width
    row = offsets // width
    column = offsets % width
    total = tl.zeros([BLOCK], tl.float32) + tl.load(bias + channel)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            r = row + i - 1
            c = column + j - 1
            here = inside & (r >= 0) & (r < height) & (c >= 0) & (c < width)
            value = tl.load(x + plane * height * width + r * width + c, mask=here, other=0.0)
            total += value * tl.load(weight + channel * 9 + i * 3 + j)
    tl.store(y + plane * height * width + offsets, total, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=channels)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.contiguous()
        y = torch.empty_like(x)
        batch, channels, height, width = x.shape
        grid = (batch * channels, triton.cdiv(height * width, 1024))
        depthwise_conv2d_kernel[grid](
            x, self.conv.weight, self.conv.bias, y, channels, height, width, BLOCK=1024
        )
        return y
