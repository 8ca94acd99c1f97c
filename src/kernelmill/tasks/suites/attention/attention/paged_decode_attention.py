"""One decoding step over a paged cache: keys and values lie in fixed pages of a common pool, a
table lists the pages of each sequence, and the sequences have different lengths. Eager code copies
every page before it looks at it.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(
        self,
        q: torch.Tensor,
        key_pool: torch.Tensor,
        value_pool: torch.Tensor,
        table: torch.Tensor,
        lengths: torch.Tensor,
    ) -> torch.Tensor:
        k = key_pool[table].flatten(1, 2)
        v = value_pool[table].flatten(1, 2)
        scores = torch.einsum("bhd,bthd->bht", q, k) / math.sqrt(q.shape[-1])
        positions = torch.arange(k.shape[1], device=q.device)
        beyond = positions[None, :] >= lengths[:, None]
        weights = torch.softmax(scores.masked_fill(beyond[:, None, :], float("-inf")), dim=-1)
        return torch.einsum("bht,bthd->bhd", weights, v)


batch = 8
heads = 8
head_dim = 64
pages = 16
page_size = 16

SCALES = {"gpu": {"batch": 64, "heads": 8, "head_dim": 128, "pages": 128}}
HIDDEN = [
    {"batch": 3, "heads": 3, "pages": 5},
    {"batch": 1, "heads": 5, "pages": 13, "head_dim": 40},
    {"batch": 5, "pages": 7, "page_size": 8},
]


def get_inputs() -> list[torch.Tensor]:
    q = torch.randn(batch, heads, head_dim)
    key_pool, value_pool = (
        torch.randn(batch * pages, page_size, heads, head_dim) for _ in range(2)
    )
    table = torch.randperm(batch * pages).view(batch, pages)
    lengths = torch.randint(pages * page_size // 2, pages * page_size + 1, (batch,))
    return [q, key_pool, value_pool, table, lengths]


def get_init_inputs() -> list:
    return []
