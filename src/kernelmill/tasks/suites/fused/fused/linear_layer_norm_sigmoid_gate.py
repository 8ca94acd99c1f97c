"""Two linear layers of the same rows: one layer-normalised, the other a sigmoid gate on it. Both
products read the same input, so one pass over it should serve them both."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.value = nn.Linear(in_features, out_features)
        self.gate = nn.Linear(in_features, out_features)
        self.norm = nn.LayerNorm(out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.norm(self.value(x)) * torch.sigmoid(self.gate(x))


batch = 640
in_features = 512
out_features = 512

SCALES = {"gpu": {"batch": 16384, "in_features": 1024, "out_features": 2048}}
HIDDEN = [{"batch": 1}, {"batch": 53}, {"batch": 307}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, in_features)]


def get_init_inputs() -> list:
    return [in_features, out_features]
