"""Lookup of embedding rows for a batch of token sequences. A gather of whole rows, bound by
memory."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocabulary: int, features: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, features)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.embedding(tokens)


batch = 36
length = 512
vocabulary = 4000
features = 512

SCALES = {"gpu": {"batch": 64, "length": 2048, "vocabulary": 50000, "features": 1024}}
HIDDEN = [{"batch": 1, "length": 1}, {"batch": 3, "length": 37}, {"batch": 7, "length": 101}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, vocabulary, (batch, length))]


def get_init_inputs() -> list:
    return [vocabulary, features]
