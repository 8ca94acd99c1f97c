"""What stands before a block: learned gates weigh the streams into one hidden state, which is then
RMS-normalised. Sum and norm belong in a single pass over the streams.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, streams: int, features: int, eps: float) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.randn(streams))
        self.norm = nn.RMSNorm(features, eps=eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pre = torch.sigmoid(self.gate)
        hidden = (pre.unsqueeze(-1) * x).sum(dim=-2)
        return self.norm(hidden)


tokens = 1536
streams = 4
features = 768
eps = 1e-6

SCALES = {"gpu": {"tokens": 16384, "features": 2048}}
HIDDEN = [{"tokens": 1}, {"tokens": 37}, {"tokens": 613}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(tokens, streams, features)]


def get_init_inputs() -> list:
    return [streams, features, eps]
