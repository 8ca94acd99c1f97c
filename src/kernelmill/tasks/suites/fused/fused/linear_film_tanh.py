"""A linear layer whose outputs are scaled and shifted by two linear maps of a second, narrow input,
then a tanh. Two products of different depth meet in one epilogue."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int, conditions: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.modulation = nn.Linear(conditions, 2 * out_features)

    def forward(self, x: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        scale, shift = self.modulation(condition).chunk(2, dim=1)
        return torch.tanh((1.0 + scale) * self.linear(x) + shift)


batch = 640
in_features = 512
out_features = 640
conditions = 48

SCALES = {"gpu": {"batch": 16384, "in_features": 1024, "out_features": 2048, "conditions": 64}}
HIDDEN = [{"batch": 1}, {"batch": 47}, {"batch": 331}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_features), torch.randn(batch, conditions)]


def get_init_inputs() -> list:
    return [in_features, out_features, conditions]
