"""SwiGLU gate: the last dimension is split in two, and silu of the first half multiplies the
second. Two strided reads and one write per output."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, value = x.chunk(2, dim=-1)
        return F.silu(gate) * value


batch = 896
features = 4096

SCALES = {"gpu": {"batch": 8192, "features": 11008}}
HIDDEN = [{"batch": 3}, {"batch": 37, "features": 1009}, {"batch": 1, "features": 3001}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, 2 * features)]


def get_init_inputs() -> list:
    return []
