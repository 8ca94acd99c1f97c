"""The end of a network with several residual streams: they are summed, RMS-normalised and
projected to the outputs. The sum and the norm can be done while the matrix product loads its rows.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, outputs: int, eps: float) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(features, eps=eps)
        self.head = nn.Linear(features, outputs, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(x.sum(dim=-2)))


tokens = 1024
streams = 4
features = 512
outputs = 1000
eps = 1e-6

SCALES = {"gpu": {"tokens": 4096, "features": 2048, "outputs": 32000}}
HIDDEN = [{"tokens": 1}, {"tokens": 37, "streams": 3}, {"tokens": 257, "streams": 2}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, streams, features)]


def get_init_inputs() -> list:
    return [features, outputs, eps]
