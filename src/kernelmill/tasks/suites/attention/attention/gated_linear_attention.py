"""A matrix-valued state per head decays by an input-dependent gate per key channel, takes up the
outer product of key and value, and is read by the query. Strictly sequential in eager code, step
by step.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, gate: torch.Tensor
    ) -> torch.Tensor:
        keep = torch.sigmoid(gate + 2)
        k = k / math.sqrt(k.shape[-1])
        state = torch.zeros_like(k[:, :, 0].unsqueeze(-1) * v[:, :, 0].unsqueeze(-2))
        outputs = []
        for step in range(q.shape[2]):
            update = k[:, :, step].unsqueeze(-1) * v[:, :, step].unsqueeze(-2)
            state = keep[:, :, step].unsqueeze(-1) * state + update
            outputs.append((q[:, :, step].unsqueeze(-2) @ state).squeeze(-2))
        return torch.stack(outputs, dim=2)


batch = 2
heads = 4
length = 96
head_dim = 48

SCALES = {"gpu": {"batch": 8, "heads": 16, "length": 128, "head_dim": 64}}
HIDDEN = [
    {"batch": 1, "heads": 3, "length": 17},
    {"batch": 1, "heads": 5, "length": 37, "head_dim": 40},
    {"batch": 3, "heads": 2, "length": 53},
]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, heads, length, head_dim) for _ in range(4)]


def get_init_inputs() -> list:
    return []
