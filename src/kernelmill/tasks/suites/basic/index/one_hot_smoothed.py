"""Soft targets from class labels: each row puts its own confidence on the labelled class and shares
the rest. A pure write, once the one-hot matrix is avoided."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes = classes

    def forward(self, labels: torch.Tensor, confidence: torch.Tensor) -> torch.Tensor:
        one_hot = F.one_hot(labels, self.classes).to(confidence.dtype)
        certain = confidence.unsqueeze(1)
        return one_hot * certain + (1.0 - one_hot) * (1.0 - certain) / (self.classes - 1)


batch = 32768
classes = 32

SCALES = {"gpu": {"batch": 2097152, "classes": 32}}
HIDDEN = [{"batch": 3}, {"batch": 1009}, {"batch": 10007}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, classes, (batch,)), 0.4 + 0.4 * torch.rand(batch)]


def get_init_inputs() -> list:
    return [classes]
