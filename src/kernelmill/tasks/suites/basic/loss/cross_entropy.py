"""Cross-entropy of class scores against integer labels, averaged over the batch. The log-
probabilities of the other classes need never be stored."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(scores, labels)


batch = 4096
classes = 1536

SCALES = {"gpu": {"batch": 16384, "classes": 8192}}
HIDDEN = [{"batch": 3}, {"batch": 37, "classes": 1009}, {"batch": 211, "classes": 11}]


def get_inputs() -> list[torch.Tensor]:
    spread = 1.0 + torch.rand(batch, 1) + 2.0 * torch.rand(1)
    return [spread * torch.randn(batch, classes), torch.randint(0, classes, (batch,))]


def get_init_inputs() -> list:
    return []
