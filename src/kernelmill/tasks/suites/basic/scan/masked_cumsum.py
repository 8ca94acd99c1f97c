"""Running sum that counts only the elements marked by a mask of zeros and ones. The masking belongs
inside the scan."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x * mask, dim=1)


batch = 640
length = 4096

SCALES = {"gpu": {"batch": 16384, "length": 8192}}
HIDDEN = [{"batch": 1}, {"batch": 37, "length": 1009}, {"batch": 3, "length": 7}]


def get_inputs() -> list[torch.Tensor]:
    mask = (torch.rand(batch, length) < 0.6).float()
    return [torch.randn(batch, length), mask]


def get_init_inputs() -> list:
    return []
