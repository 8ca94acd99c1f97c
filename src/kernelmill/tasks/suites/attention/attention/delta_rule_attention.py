"""Linear attention with the delta rule: each step reads what the state holds for the key and
corrects it towards the new value by a gated amount. Every step needs the state before it twice.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, strength: torch.Tensor
    ) -> torch.Tensor:
        k = F.normalize(k, dim=-1)
        beta = torch.sigmoid(strength).unsqueeze(-1)
        state = torch.zeros_like(k[:, :, 0].unsqueeze(-1) * v[:, :, 0].unsqueeze(-2))
        outputs = []
        for step in range(q.shape[2]):
            key = k[:, :, step].unsqueeze(-1)
            recalled = (key * state).sum(dim=-2)
            correction = beta[:, :, step] * (v[:, :, step] - recalled)
            state = state + key * correction.unsqueeze(-2)
            outputs.append((q[:, :, step].unsqueeze(-1) * state).sum(dim=-2))
        return torch.stack(outputs, dim=2)


batch = 2
heads = 4
length = 96
head_dim = 32

SCALES = {"gpu": {"batch": 8, "heads": 16, "length": 96, "head_dim": 64}}
HIDDEN = [
    {"batch": 1, "heads": 3, "length": 17},
    {"batch": 1, "heads": 5, "length": 29, "head_dim": 24},
    {"batch": 3, "heads": 2, "length": 37},
]


def get_inputs() -> list[torch.Tensor]:
    q, k, v = (torch.randn(batch, heads, length, head_dim) for _ in range(3))
    return [q, k, v, torch.randn(batch, heads, length)]


def get_init_inputs() -> list:
    return []
