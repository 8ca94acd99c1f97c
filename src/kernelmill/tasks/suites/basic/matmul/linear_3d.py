"""Linear layer without bias on a (batch, sequence, features) tensor, as in a transformer block."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, out_features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x)


batch = 8
length = 128
in_features = 512
out_features = 768

SCALES = {"gpu": {"batch": 16, "length": 1024, "in_features": 1024, "out_features": 4096}}
HIDDEN = [{"batch": 1, "length": 1}, {"batch": 3, "length": 47}, {"batch": 5, "length": 101}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, length, in_features)]


def get_init_inputs() -> list:
    return [in_features, out_features]
