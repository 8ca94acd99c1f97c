"""Turns raw coefficients into the three connection maps: gates in (0, 1) for reading, gates in (0,
2) for writing, and a doubly stochastic matrix for mixing. All per token, and all of it fits in
registers.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, streams: int, iterations: int) -> None:
        super().__init__()
        self.streams = streams
        self.iterations = iterations

    def sinkhorn(self, logits: torch.Tensor) -> torch.Tensor:
        matrix = torch.exp(logits - logits.amax(dim=(-2, -1), keepdim=True))
        for _ in range(self.iterations):
            matrix = matrix / matrix.sum(dim=-1, keepdim=True)
            matrix = matrix / matrix.sum(dim=-2, keepdim=True)
        return matrix

    def forward(self, logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        n = self.streams
        pre, post, mixing = logits.split([n, n, n * n], dim=-1)
        mixing = self.sinkhorn(mixing.unflatten(-1, (n, n)))
        return torch.sigmoid(pre), 2 * torch.sigmoid(post), mixing


tokens = 3072
streams = 4
iterations = 20

SCALES = {"gpu": {"tokens": 262144}}
HIDDEN = [{"tokens": 1}, {"tokens": 37}, {"tokens": 1021}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, streams * streams + 2 * streams)]


def get_init_inputs() -> list:
    return [streams, iterations]
