"""A frozen linear layer plus a low-rank correction of it, then SiLU. The thin products are bound by
memory and launch time unless they ride along with the wide one."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features: int, rank: int, scaling: float) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.down = nn.Linear(features, rank, bias=False)
        self.up = nn.Linear(rank, features, bias=False)
        self.scaling = scaling

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.linear(x) + self.scaling * self.up(self.down(x)))


batch = 768
features = 640
rank = 16
scaling = 2.0

SCALES = {"gpu": {"batch": 16384, "features": 2048}}
HIDDEN = [{"batch": 1}, {"batch": 43}, {"batch": 409}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, features)]


def get_init_inputs() -> list:
    return [features, rank, scaling]
