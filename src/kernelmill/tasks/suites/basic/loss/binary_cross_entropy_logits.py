"""Binary cross-entropy of logits against soft targets in the unit interval, averaged. Must stay
finite for large logits."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.binary_cross_entropy_with_logits(logits, target)


batch = 512
features = 2048

SCALES = {"gpu": {"batch": 8192, "features": 8192}}
HIDDEN = [{"batch": 3}, {"batch": 37, "features": 1009}, {"batch": 1, "features": 7919}]


def get_inputs() -> list[torch.Tensor]:
    spread = torch.linspace(0.5, 1.5, batch).unsqueeze(1) * torch.linspace(0.5, 1.5, features)
    logits = (1.0 + 2.0 * torch.rand(1)) * spread * torch.randn(batch, features)
    target = torch.sigmoid(logits + torch.randn(batch, features))
    return [logits, target]


def get_init_inputs() -> list:
    return []
