"""Two inputs, each through its own linear layer, multiplied elementwise, and the product scaled to
unit length. The two matrix products have to end in the same tile."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, left_features: int, right_features: int, out_features: int) -> None:
        super().__init__()
        self.left = nn.Linear(left_features, out_features)
        self.right = nn.Linear(right_features, out_features)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.left(x) * self.right(y), dim=1)


batch = 640
left_features = 512
right_features = 384
out_features = 640

SCALES = {
    "gpu": {"batch": 16384, "left_features": 1024, "right_features": 768, "out_features": 2048}
}
HIDDEN = [{"batch": 1}, {"batch": 61}, {"batch": 293}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, left_features), torch.randn(batch, right_features)]


def get_init_inputs() -> list:
    return [left_features, right_features, out_features]
