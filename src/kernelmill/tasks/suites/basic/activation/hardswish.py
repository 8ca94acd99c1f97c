"""Hard swish, x clamp(x + 3, 0, 6) / 6, as used in mobile networks. Pure bandwidth; inputs reach
both bends."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.hardswish(x)


batch = 1456
features = 4096

SCALES = {"gpu": {"batch": 8192, "features": 16384}}
HIDDEN = [{"batch": 3}, {"batch": 37, "features": 1009}, {"batch": 1, "features": 7919}]


def get_inputs() -> list[torch.Tensor]:
    return [2.0 * torch.randn(batch, features)]


def get_init_inputs() -> list:
    return []
