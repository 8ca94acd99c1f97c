"""One decoding step over a latent cache: the query is carried into the latent space, attends to
the cached latents plus a shared positional key, and the result is expanded per head. Every cached
row serves all heads, so it should be read once.
"""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, heads: int, head_dim: int, latent: int) -> None:
        super().__init__()
        self.key_weight = nn.Parameter(torch.randn(heads, head_dim, latent) / math.sqrt(latent))
        self.value_weight = nn.Parameter(torch.randn(heads, latent, head_dim) / math.sqrt(latent))

    def forward(
        self,
        q: torch.Tensor,
        q_position: torch.Tensor,
        latents: torch.Tensor,
        k_position: torch.Tensor,
    ) -> torch.Tensor:
        q_latent = torch.einsum("bhd,hdr->bhr", q, self.key_weight)
        scores = q_latent @ latents.transpose(-2, -1) + q_position @ k_position.transpose(-2, -1)
        weights = torch.softmax(scores / math.sqrt(q.shape[-1] + q_position.shape[-1]), dim=-1)
        return torch.einsum("bhr,hrd->bhd", weights @ latents, self.value_weight)


batch = 16
heads = 8
length = 1536
head_dim = 64
latent = 256
position_dim = 32

SCALES = {
    "gpu": {
        "batch": 64,
        "heads": 16,
        "length": 4096,
        "head_dim": 128,
        "latent": 512,
        "position_dim": 64,
    }
}
HIDDEN = [
    {"batch": 1, "length": 37},
    {"batch": 3, "length": 307, "position_dim": 24},
    {"batch": 5, "length": 131},
]


def get_inputs() -> list[torch.Tensor]:
    q = torch.randn(batch, heads, head_dim)
    q_position = torch.randn(batch, heads, position_dim)
    latents = torch.randn(batch, length, latent)
    k_position = torch.randn(batch, length, position_dim)
    return [q, q_position, latents, k_position]


def get_init_inputs() -> list:
    return [heads, head_dim, latent]
