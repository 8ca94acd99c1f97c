"""Cosine embedding loss: pairs marked plus one are pulled together, pairs marked minus one pushed
apart. Three dot products per row in one read."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def forward(
        self, first: torch.Tensor, second: torch.Tensor, target: torch.Tensor
    ) -> torch.Tensor:
        return F.cosine_embedding_loss(first, second, target, margin=self.margin)


batch = 12000
features = 256
margin = 0.1

SCALES = {"gpu": {"batch": 262144, "features": 512}}
HIDDEN = [{"batch": 5}, {"batch": 37, "features": 251}, {"batch": 1009, "features": 61}]


def get_inputs() -> list[torch.Tensor]:
    first = torch.randn(batch, features)
    closeness = torch.randn(batch) + 2.0 * torch.rand(1)
    second = closeness.unsqueeze(1) * first + torch.randn(batch, features)
    target = torch.where(closeness + torch.randn(batch) > 0.0, 1.0, -1.0)
    return [first, second, target]


def get_init_inputs() -> list:
    return [margin]
