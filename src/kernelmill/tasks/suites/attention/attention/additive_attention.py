"""Additive attention: the score of a query and a key is a learned weighting of the tanh of the sum
of their projections. Every pair costs a whole vector of tanh, which eager code writes out.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(features, hidden)
        self.key = nn.Linear(features, hidden, bias=False)
        self.weight = nn.Parameter(0.3 * torch.randn(hidden))

    def forward(self, queries: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
        pairs = self.query(queries).unsqueeze(2) + self.key(memory).unsqueeze(1)
        scores = torch.tanh(pairs) @ self.weight
        return torch.softmax(scores, dim=-1) @ memory


batch = 6
queries = 48
length = 96
features = 128
hidden = 128

SCALES = {"gpu": {"batch": 16, "queries": 128, "length": 256, "features": 512, "hidden": 256}}
HIDDEN = [
    {"batch": 1, "queries": 37, "length": 11},
    {"batch": 3, "queries": 1, "length": 61},
    {"batch": 2, "queries": 23, "length": 53},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, queries, features), torch.randn(batch, length, features)]


def get_init_inputs() -> list:
    return [features, hidden]
