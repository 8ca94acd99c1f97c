"""GEGLU gate on separate operands: exact GELU of one tensor times another. A two-input elementwise
kernel with an error function."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return F.gelu(gate) * value


batch = 896
features = 4096

SCALES = {"gpu": {"batch": 8192, "features": 11008}}
HIDDEN = [{"batch": 3}, {"batch": 37, "features": 1009}, {"batch": 1, "features": 3001}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, features), torch.randn(batch, features)]


def get_init_inputs() -> list:
    return []
