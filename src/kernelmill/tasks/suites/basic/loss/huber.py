"""Huber loss with a chosen threshold: quadratic for small errors, linear for large ones, averaged
to a single number."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, delta: float) -> None:
        super().__init__()
        self.delta = delta

    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.huber_loss(prediction, target, delta=self.delta)


batch = 1024
features = 4096
delta = 0.7

SCALES = {"gpu": {"batch": 8192, "features": 16384}}
HIDDEN = [{"batch": 3}, {"batch": 37, "features": 1009}, {"batch": 1, "features": 7919}]


def get_inputs() -> list[torch.Tensor]:
    spread = torch.linspace(0.5, 1.5, batch).unsqueeze(1) * torch.linspace(0.5, 1.5, features)
    prediction = (0.5 + torch.rand(1)) * spread * torch.randn(batch, features)
    target = (0.5 + torch.rand(1)) * spread * torch.randn(batch, features)
    return [prediction, target]


def get_init_inputs() -> list:
    return [delta]
