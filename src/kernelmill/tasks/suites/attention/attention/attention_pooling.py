"""A learned query pools each sequence into one vector: a score per token, a softmax over the
tokens, a weighted sum. The input is needed twice but should be read once.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = x @ self.query / math.sqrt(x.shape[-1])
        weights = torch.softmax(scores, dim=-1)
        return (weights.unsqueeze(-1) * x).sum(dim=1)


batch = 96
length = 256
features = 256

SCALES = {"gpu": {"batch": 256, "length": 1024, "features": 768}}
HIDDEN = [{"batch": 1, "length": 37}, {"batch": 7, "length": 131}, {"batch": 31, "length": 101}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, length, features)]


def get_init_inputs() -> list:
    return [features]
