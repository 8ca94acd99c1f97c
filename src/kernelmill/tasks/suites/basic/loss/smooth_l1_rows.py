"""Smooth L1 error summed over each row, one number per sample. Row reductions instead of a single
global one."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, beta: float) -> None:
        super().__init__()
        self.beta = beta

    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.smooth_l1_loss(prediction, target, reduction="none", beta=self.beta).sum(dim=1)


batch = 1280
features = 4096
beta = 0.5

SCALES = {"gpu": {"batch": 8192, "features": 16384}}
HIDDEN = [{"batch": 3}, {"batch": 37, "features": 1009}, {"batch": 1, "features": 7919}]


def get_inputs() -> list[torch.Tensor]:
    spread = torch.linspace(0.5, 1.5, batch).unsqueeze(1) * torch.linspace(0.5, 1.5, features)
    prediction = (0.5 + torch.rand(1)) * spread * torch.randn(batch, features)
    target = (0.5 + torch.rand(1)) * spread * torch.randn(batch, features)
    return [prediction, target]


def get_init_inputs() -> list:
    return [beta]
