"""Whole models with random weights, built in code, in sizes that suit two cores."""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn


class WholeModel(NamedTuple):
    module: nn.Module
    inputs: tuple[torch.Tensor, ...]


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class LlamaBlock(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.heads, self.head = heads, width // heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def rotate(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        half = self.head // 2
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        y = self.norm1(x)
        shape = (batch, length, self.heads, self.head)
        q, k, v = (part(y).view(shape).transpose(1, 2) for part in (self.q, self.k, self.v))
        q, k = self.rotate(q, cos, sin), self.rotate(k, cos, sin)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        y = self.norm2(x)
        added: torch.Tensor = x + self.down(F.silu(self.gate(y)) * self.up(y))
        return added


class Llama(nn.Module):
    cos: torch.Tensor
    sin: torch.Tensor

    def __init__(self, width: int, heads: int, layers: int, length: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, 8 * width // 3) for _ in range(layers))
        self.norm = RmsNorm(width)
        half = width // heads // 2
        angles = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(half) / half))
        self.register_buffer("cos", torch.cat((angles, angles), -1).cos())
        self.register_buffer("sin", torch.cat((angles, angles), -1).sin())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x, self.cos, self.sin)
        normed: torch.Tensor = self.norm(x)
        return normed


class VitBlock(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.scale1 = nn.Parameter(torch.full((width,), 0.1))
        self.scale2 = nn.Parameter(torch.full((width,), 0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = (
            self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        )
        y = F.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        y = self.out(y.transpose(1, 2).reshape(batch, length, width))
        x = x + self.scale1 * y
        added: torch.Tensor = x + self.scale2 * self.down(F.gelu(self.up(self.norm2(x))))
        return added


class Vit(nn.Module):
    def __init__(self, image: int, patch: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.position = nn.Parameter(torch.randn(1, (image // patch) ** 2, width) * 0.02)
        self.blocks = nn.Sequential(*(VitBlock(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 100)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2) + self.position
        logits: torch.Tensor = self.head(self.norm(self.blocks(x)).mean(1))
        return logits


def _conv(into: int, out: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(into, out, size, stride, size // 2, bias=False)


class ResidualBlock(nn.Module):
    def __init__(self, into: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = _conv(into, out, 3, stride), nn.BatchNorm2d(out)
        self.conv2, self.norm2 = _conv(out, out, 3), nn.BatchNorm2d(out)
        same = stride == 1 and into == out
        self.short: nn.Module = (
            nn.Identity()
            if same
            else nn.Sequential(_conv(into, out, 1, stride), nn.BatchNorm2d(out))
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.stem, self.norm = _conv(3, width, 7, 2), nn.BatchNorm2d(width)
        blocks, into = [], width
        for stage in range(4):
            out = width << stage
            blocks += [ResidualBlock(into, out, 1 if stage == 0 else 2), ResidualBlock(out, out, 1)]
            into = out
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(into, 100)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        logits: torch.Tensor = self.head(self.blocks(x).mean((2, 3)))
        return logits


class UnetStep(nn.Module):
    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = _conv(into, out, 3), nn.GroupNorm(8, out)
        self.conv2, self.norm2 = _conv(out, out, 3), nn.GroupNorm(8, out)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.silu(self.norm1(self.conv1(x)))
        return F.silu(self.norm2(self.conv2(x)))


class Unet(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        sizes = [width << level for level in range(depth + 1)]
        self.first = UnetStep(3, width)
        self.down = nn.ModuleList(UnetStep(sizes[i], sizes[i + 1]) for i in range(depth))
        self.up = nn.ModuleList(
            UnetStep(sizes[i + 1] + sizes[i], sizes[i]) for i in reversed(range(depth))
        )
        self.last = nn.Conv2d(width, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = [self.first(x)]
        for step in self.down:
            kept.append(step(F.max_pool2d(kept[-1], 2)))
        x = kept.pop()
        for step in self.up:
            wide = F.interpolate(x, scale_factor=2.0, mode="bilinear")
            x = step(torch.cat((wide, kept.pop()), 1))
        drawn: torch.Tensor = self.last(x)
        return drawn


def _tower(*sizes: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for into, out in itertools.pairwise(sizes):
        layers += [nn.Linear(into, out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Dlrm(nn.Module):
    def __init__(self, tables: int, rows: int, width: int) -> None:
        super().__init__()
        self.tables = nn.ParameterList(torch.randn(rows, width) * 0.1 for _ in range(tables))
        self.bottom, count = _tower(13, 128, width), tables + 1
        self.top = _tower(width + count * (count - 1) // 2, 256, 64, 1)
        pairs = torch.tril_indices(count, count, -1)
        self.first, self.second = pairs[0].tolist(), pairs[1].tolist()

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.bottom(dense))
        sums = [table[sparse[:, i]].sum(1) for i, table in enumerate(self.tables)]
        parts = torch.stack([x, *sums], 1)
        products = torch.bmm(parts, parts.transpose(1, 2))
        flat = products[:, self.first, self.second]
        return torch.sigmoid(self.top(torch.cat((x, flat), 1)))


def _llama(small: bool) -> WholeModel:
    width, layers, length = (128, 2, 64) if small else (512, 4, 256)
    return WholeModel(Llama(width, 8, layers, length), (torch.randn(2, length, width),))


def _vit(small: bool) -> WholeModel:
    image, layers = (64, 2) if small else (224, 6)
    width = 96 if small else 192
    return WholeModel(Vit(image, 16, width, 3, layers), (torch.randn(8, 3, image, image),))


def _resnet(small: bool) -> WholeModel:
    size = 64 if small else 160
    return WholeModel(ResNet(16 if small else 48), (torch.randn(8, 3, size, size),))


def _unet(small: bool) -> WholeModel:
    size = 48 if small else 128
    return WholeModel(Unet(16 if small else 32, 3), (torch.randn(2, 3, size, size),))


def _dlrm(small: bool) -> WholeModel:
    batch, rows = (128, 1000) if small else (2048, 20000)
    inputs = torch.randn(batch, 13), torch.randint(0, rows, (batch, 8, 20))
    return WholeModel(Dlrm(8, rows, 32 if small else 64), inputs)


_MAKERS: dict[str, Callable[[bool], WholeModel]] = {
    "llama": _llama, "vit": _vit, "resnet": _resnet, "unet": _unet, "dlrm": _dlrm,
}  # fmt: skip
NAMES = tuple(_MAKERS)


def make_model(name: str, small: bool) -> WholeModel:
    """One of the models in evaluation mode; its batch norms have seen data."""
    torch.manual_seed(0)
    made = _MAKERS[name](small)
    for part in made.module.modules():
        if isinstance(part, nn.BatchNorm2d):
            _settle(part)
    return made._replace(module=made.module.eval())


def _settle(norm: Any) -> None:
    with torch.no_grad():
        norm.running_mean.normal_(0, 0.1)
        norm.running_var.uniform_(0.5, 1.5)
        norm.weight.uniform_(0.5, 1.5)
        norm.bias.normal_(0, 0.1)
