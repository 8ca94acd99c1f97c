"""Self-attention with a compressed cache: keys and values of all heads are expanded from one
normalised latent vector per token. A chain of thin and wide matrix products around causal
attention.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, features: int, latent: int, heads: int, head_dim: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(features, heads * head_dim, bias=False)
        self.compress = nn.Linear(features, latent, bias=False)
        self.norm = nn.RMSNorm(latent, eps=1e-6)
        self.expand = nn.Linear(latent, 2 * heads * head_dim, bias=False)
        self.out = nn.Linear(heads * head_dim, features, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.query(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        kv = self.expand(self.norm(self.compress(x)))
        k, v = kv.unflatten(-1, (self.heads, -1)).transpose(1, 2).chunk(2, dim=-1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))


batch = 2
length = 320
features = 384
latent = 96
heads = 6
head_dim = 64

SCALES = {
    "gpu": {
        "batch": 4,
        "length": 1024,
        "features": 2048,
        "latent": 512,
        "heads": 16,
        "head_dim": 128,
    }
}
HIDDEN = [{"batch": 1, "length": 37}, {"batch": 3, "length": 101}, {"batch": 7, "length": 5}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(batch, length, features)]


def get_init_inputs() -> list:
    return [features, latent, heads, head_dim]
