"""Each input capsule group through its own matrix, the predictions summed over the groups with
given coupling weights, and the short vectors squashed to a length below one."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, groups: int, depth: int, capsules: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(groups, depth, capsules * width) / depth**0.5)
        self.width = width

    def forward(self, x: torch.Tensor, coupling: torch.Tensor) -> torch.Tensor:
        votes = torch.bmm(x, self.weight).unflatten(2, (-1, self.width))
        total = torch.sum(coupling.unsqueeze(-1) * votes, dim=0)
        square = torch.sum(total * total, dim=-1, keepdim=True)
        return total * torch.sqrt(square) / (1.0 + square)


groups = 16
batch = 176
depth = 128
capsules = 24
width = 16

SCALES = {"gpu": {"groups": 32, "batch": 1024, "depth": 256, "capsules": 64}}
HIDDEN = [{"batch": 1}, {"batch": 13}, {"batch": 97}]


def get_inputs() -> list[torch.Tensor]:
    return [
        torch.randn(groups, batch, depth),
        torch.softmax(torch.randn(groups, batch, capsules), dim=2) * 4.0,
    ]


def get_init_inputs() -> list:
    return [groups, depth, capsules, width]
