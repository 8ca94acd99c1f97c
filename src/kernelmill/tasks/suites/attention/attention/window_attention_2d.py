"""Self-attention within square windows of an image, with a learned bias per relative offset.
Cutting the image into windows and putting it together again is pure data movement that a kernel
can avoid.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, heads: int, window: int) -> None:
        super().__init__()
        self.heads = heads
        self.window = window
        self.qkv = nn.Linear(features, 3 * features, bias=False)
        self.bias = nn.Parameter(torch.randn(heads, 2 * window - 1, 2 * window - 1))
        self.out = nn.Linear(features, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, height, width, features = x.shape
        window = self.window
        tiles = x.view(batch, height // window, window, width // window, window, features)
        tiles = tiles.transpose(2, 3).reshape(-1, window * window, features)
        qkv = self.qkv(tiles).unflatten(-1, (3, self.heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)

        sandbox = torch.arange(window * window, device=x.device)
        row, column = sandbox // window, sandbox % window
        down = row[:, None] - row[None, :] + window - 1
        across = column[:, None] - column[None, :] + window - 1
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1]) + self.bias[:, down, across]

        mixed = self.out((torch.softmax(scores, dim=-1) @ v).transpose(1, 2).flatten(2))
        mixed = mixed.view(batch, height // window, width // window, window, window, features)
        return mixed.transpose(2, 3).reshape(batch, height, width, features)


batch = 4
rows = 4
columns = 4
window = 7
features = 96
heads = 3

SCALES = {"gpu": {"batch": 64, "rows": 8, "columns": 8, "features": 192, "heads": 6}}
HIDDEN = [
    {"batch": 1, "rows": 1, "columns": 3},
    {"batch": 3, "rows": 2, "columns": 1},
    {"batch": 1, "rows": 5, "columns": 3},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, rows * window, columns * window, features)]


def get_init_inputs() -> list:
    return [features, heads, window]
