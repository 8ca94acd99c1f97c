"""A wide linear layer, ReLU, and a learned weighted sum of the row: a two-layer perceptron with one
output. The hidden row is needed once and should stay in registers."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, in_features: int, hidden: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_features, hidden)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(F.relu(self.linear(x))).squeeze(1)


batch = 1024
in_features = 320
hidden = 768

SCALES = {"gpu": {"batch": 16384, "in_features": 1024, "hidden": 4096}}
HIDDEN = [{"batch": 7}, {"batch": 67}, {"batch": 577}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_features)]


def get_init_inputs() -> list:
    return [in_features, hidden]
