"""Mean absolute error between two matrices, a single number. A whole-tensor reduction that should
not store the differences."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.l1_loss(prediction, target)


batch = 1400
features = 4096

SCALES = {"gpu": {"batch": 8192, "features": 16384}}
HIDDEN = [{"batch": 3}, {"batch": 37, "features": 1009}, {"batch": 1, "features": 7919}]


def get_inputs() -> list[torch.Tensor]:
    spread = torch.linspace(0.5, 1.5, batch).unsqueeze(1) * torch.linspace(0.5, 1.5, features)
    prediction = (0.5 + torch.rand(1)) * spread * torch.randn(batch, features)
    target = (0.5 + torch.rand(1)) * spread * torch.randn(batch, features)
    return [prediction, target]


def get_init_inputs() -> list:
    return []
