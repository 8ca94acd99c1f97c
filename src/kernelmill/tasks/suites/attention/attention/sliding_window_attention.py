"""Causal attention limited to the latest keys: a query sees itself and a fixed number of positions
before it. Done with a mask the cost is quadratic; a kernel that walks the band makes it linear.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(q.shape[-2], device=q.device)
        distance = positions[:, None] - positions[None, :]
        visible = (distance >= 0) & (distance < self.window)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


batch = 2
heads = 6
length = 512
head_dim = 64
window = 96

SCALES = {"gpu": {"batch": 2, "heads": 16, "length": 4096, "window": 512}}
HIDDEN = [
    {"batch": 1, "heads": 3, "length": 37},
    {"batch": 1, "heads": 5, "length": 307, "head_dim": 40},
    {"batch": 3, "heads": 2, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(3)]


def get_init_inputs() -> list:
    return [window]
