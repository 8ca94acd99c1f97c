"""From the streams of a token to its three connection maps in one go: norm, thin projections,
gates, and the doubly stochastic projection. A large reduction that feeds a long chain on very few
numbers.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, streams: int, features: int, iterations: int, eps: float) -> None:
        super().__init__()
        n = streams
        self.streams = streams
        self.iterations = iterations
        self.norm = nn.RMSNorm(n * features, eps=eps)
        self.pre = nn.Linear(n * features, n)
        self.post = nn.Linear(n * features, n)
        self.mixing = nn.Linear(n * features, n * n)

    def sinkhorn(self, logits: torch.Tensor) -> torch.Tensor:
        matrix = torch.exp(logits - logits.amax(dim=(-2, -1), keepdim=True))
        for _ in range(self.iterations):
            matrix = matrix / matrix.sum(dim=-1, keepdim=True)
            matrix = matrix / matrix.sum(dim=-2, keepdim=True)
        return matrix

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        flat = self.norm(x.flatten(-2))
        pre = torch.sigmoid(self.pre(flat))
        post = 2 * torch.sigmoid(self.post(flat))
        mixing = self.mixing(flat).unflatten(-1, (self.streams, self.streams))
        return pre, post, self.sinkhorn(mixing)


tokens = 640
streams = 4
features = 640
iterations = 20
eps = 1e-6

SCALES = {"gpu": {"tokens": 16384, "features": 2048}}
HIDDEN = [{"tokens": 1}, {"tokens": 37}, {"tokens": 401}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, streams, features)]


def get_init_inputs() -> list:
    return [streams, features, iterations, eps]
