"""Triplet margin loss: distance to the positive minus distance to the negative plus a margin,
clipped at zero and averaged. Two row reductions in one read."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def forward(
        self, anchor: torch.Tensor, positive: torch.Tensor, negative: torch.Tensor
    ) -> torch.Tensor:
        return F.triplet_margin_loss(anchor, positive, negative, margin=self.margin)


batch = 8000
features = 256
margin = 1.0

SCALES = {"gpu": {"batch": 262144, "features": 256}}
HIDDEN = [{"batch": 5}, {"batch": 37, "features": 251}, {"batch": 1009, "features": 61}]


def get_inputs() -> list[torch.Tensor]:
    anchor = torch.randn(batch, features)
    positive = anchor + (0.5 + torch.rand(1) + torch.rand(batch, 1)) * torch.randn(batch, features)
    negative = torch.randn(batch, features)
    return [anchor, positive, negative]


def get_init_inputs() -> list:
    return [margin]
