"""The raw coefficients of the connection maps: the streams of a token are flattened,
RMS-normalised, projected to a few numbers, scaled per group and shifted. A very thin matrix
product whose norm can be applied after the fact.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, streams: int, features: int, eps: float) -> None:
        super().__init__()
        count = streams * streams + 2 * streams
        self.groups = [streams, streams, streams * streams]
        self.norm = nn.RMSNorm(streams * features, eps=eps)
        self.project = nn.Linear(streams * features, count, bias=False)
        self.scale = nn.Parameter(1 + 0.3 * torch.randn(3))
        self.bias = nn.Parameter(torch.randn(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits = self.project(self.norm(x.flatten(-2)))
        pre, post, mixing = logits.split(self.groups, dim=-1)
        scaled = (self.scale[0] * pre, self.scale[1] * post, self.scale[2] * mixing)
        return torch.cat(scaled, dim=-1) + self.bias


tokens = 1024
streams = 4
features = 640
eps = 1e-6

SCALES = {"gpu": {"tokens": 16384, "features": 2048}}
HIDDEN = [{"tokens": 1}, {"tokens": 37}, {"tokens": 613}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, streams, features)]


def get_init_inputs() -> list:
    return [streams, features, eps]
