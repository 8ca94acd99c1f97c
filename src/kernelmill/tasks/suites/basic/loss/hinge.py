"""Hinge loss of scores against labels of plus or minus one, averaged to a single number. A product,
a clamp and a global sum in one read."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return torch.mean(torch.clamp(1.0 - prediction * target, min=0.0))


batch = 512
features = 4096

SCALES = {"gpu": {"batch": 8192, "features": 16384}}
HIDDEN = [{"batch": 3}, {"batch": 37, "features": 1009}, {"batch": 1, "features": 7919}]


def get_inputs() -> list[torch.Tensor]:
    spread = torch.linspace(0.5, 1.5, batch).unsqueeze(1) * torch.linspace(0.5, 1.5, features)
    target = torch.randint(0, 2, (batch, features)).float() * 2.0 - 1.0
    prediction = (0.5 + torch.rand(1)) * spread * (target + torch.randn(batch, features))
    return [prediction, target]


def get_init_inputs() -> list:
    return []
