"""Kullback-Leibler divergence from log-probabilities to target probabilities, summed and divided by
the batch size."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, log_prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return F.kl_div(log_prediction, target, reduction="batchmean")


batch = 1024
classes = 1024

SCALES = {"gpu": {"batch": 16384, "classes": 8192}}
HIDDEN = [{"batch": 3}, {"batch": 37, "classes": 1009}, {"batch": 211, "classes": 11}]


def get_inputs() -> list[torch.Tensor]:
    spread = torch.linspace(0.5, 1.5, batch).unsqueeze(1) * torch.linspace(0.5, 1.5, classes)
    scores = (torch.rand(1) + spread) * torch.randn(batch, classes)
    log_prediction = torch.log_softmax(scores, dim=1)
    target = torch.softmax(0.5 * scores + 0.5 * torch.randn(batch, classes), dim=1)
    return [log_prediction, target]


def get_init_inputs() -> list:
    return []
