"""A whole layer on several residual streams: dynamic maps from the streams, a weighted read, a
small gated block, and the write back onto the mixed streams. Matrix products of all shapes with
short chains in between.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(
        self, streams: int, features: int, hidden: int, iterations: int, eps: float
    ) -> None:
        super().__init__()
        n = streams
        self.streams = streams
        self.iterations = iterations
        self.norm = nn.RMSNorm(n * features, eps=eps)
        self.pre = nn.Linear(n * features, n)
        self.post = nn.Linear(n * features, n)
        self.mixing = nn.Linear(n * features, n * n)
        self.block_norm = nn.RMSNorm(features, eps=eps)
        self.up = nn.Linear(features, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, features, bias=False)

    def sinkhorn(self, logits: torch.Tensor) -> torch.Tensor:
        matrix = torch.exp(logits - logits.amax(dim=(-2, -1), keepdim=True))
        for _ in range(self.iterations):
            matrix = matrix / matrix.sum(dim=-1, keepdim=True)
            matrix = matrix / matrix.sum(dim=-2, keepdim=True)
        return matrix

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = self.norm(x.flatten(-2))
        pre = torch.sigmoid(self.pre(flat))
        post = 2 * torch.sigmoid(self.post(flat))
        mixing = self.sinkhorn(self.mixing(flat).unflatten(-1, (self.streams, self.streams)))

        read = (pre.unsqueeze(-1) * x).sum(dim=-2)
        gate, value = self.up(self.block_norm(read)).chunk(2, dim=-1)
        output = self.down(F.silu(gate) * value)
        return mixing @ x + post.unsqueeze(-1) * output.unsqueeze(-2)


tokens = 384
streams = 4
features = 256
hidden = 512
iterations = 10
eps = 1e-6

SCALES = {"gpu": {"tokens": 8192, "features": 2048, "hidden": 4096}}
HIDDEN = [{"tokens": 1}, {"tokens": 37}, {"tokens": 211}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, streams, features)]


def get_init_inputs() -> list:
    return [streams, features, hidden, iterations, eps]
