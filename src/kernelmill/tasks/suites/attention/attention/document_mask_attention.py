"""Causal attention over packed sequences: a query attends only to earlier keys of its own
document, told apart by an integer label per token. Most blocks of the score matrix are empty, but
where depends on the data.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, document: torch.Tensor
    ) -> torch.Tensor:
        length = q.shape[-2]
        same = document[:, None, :, None] == document[:, None, None, :]
        causal = torch.ones(length, length, dtype=torch.bool, device=q.device).tril()
        return F.scaled_dot_product_attention(q, k, v, attn_mask=same & causal)


batch = 2
heads = 8
length = 384
head_dim = 64
documents = 6

SCALES = {"gpu": {"batch": 4, "heads": 16, "length": 2048}}
HIDDEN = [
    {"batch": 3, "heads": 3, "length": 37, "documents": 3},
    {"batch": 1, "heads": 5, "length": 211, "head_dim": 40},
    {"batch": 2, "heads": 2, "length": 131, "documents": 11},
]


def get_inputs() -> list[torch.Tensor]:
    q, k, v = (torch.randn(batch, heads, length, head_dim) for _ in range(3))
    document, _ = torch.randint(0, documents, (batch, length)).sort(dim=-1)
    return [q, k, v, document]


def get_init_inputs() -> list:
    return []
