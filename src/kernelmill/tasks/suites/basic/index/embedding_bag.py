"""Sum of the embedding rows of each bag of tokens. Fusing lookup and sum avoids storing the looked-
up rows."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, vocabulary: int, features: int) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(vocabulary, features, mode="sum")

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.bag(tokens)


batch = 4096
length = 24
vocabulary = 20000
features = 256

SCALES = {"gpu": {"batch": 131072, "length": 32, "vocabulary": 100000, "features": 256}}
HIDDEN = [{"batch": 1}, {"batch": 37, "length": 5}, {"batch": 101, "length": 23}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randint(0, vocabulary, (batch, length))]


def get_init_inputs() -> list:
    return [vocabulary, features]
