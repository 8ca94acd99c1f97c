"""Sum of the table rows that each bag of indices names. Written with plain indexing, eager copies
every gathered row out before it adds them up; a kernel can add while it reads.
"""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, entries: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(entries, features))

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        return self.weight[indices].sum(dim=1)


entries = 10000
features = 128
batch = 1024
bag = 32

SCALES = {"gpu": {"entries": 1000000, "batch": 16384, "bag": 64}}
HIDDEN = [{"batch": 3, "bag": 7}, {"batch": 61, "bag": 1}, {"batch": 257, "bag": 37}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, entries, (batch, bag))]


def get_init_inputs() -> list:
    return [entries, features]
