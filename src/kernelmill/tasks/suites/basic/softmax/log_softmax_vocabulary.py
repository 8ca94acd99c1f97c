"""Log-softmax over vocabulary-sized rows, as at the end of a language model. Each row is larger
than a core's fast memory."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.log_softmax(x, dim=-1)


batch = 4
length = 32
vocabulary = 32000

SCALES = {"gpu": {"batch": 8, "length": 512, "vocabulary": 32000}}
HIDDEN = [{"batch": 1, "length": 1}, {"batch": 3, "length": 5, "vocabulary": 10007}]


def get_inputs() -> list[torch.Tensor]:
    return [3.0 * torch.randn(batch, length, vocabulary)]


def get_init_inputs() -> list:
    return []
