"""All experts of a dense mixture: a batched product with bias per expert, SiLU, and a sum over
experts weighted by given router weights. The sum can be kept in the accumulator across experts."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, experts: int, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(
            torch.randn(experts, in_features, out_features) / in_features**0.5
        )
        self.bias = nn.Parameter(torch.randn(experts, 1, out_features))

    def forward(self, x: torch.Tensor, router: torch.Tensor) -> torch.Tensor:
        h = F.silu(torch.matmul(x, self.weight) + self.bias)
        return torch.sum(router.T.unsqueeze(2) * h, dim=0)


experts = 6
tokens = 320
in_features = 320
out_features = 320

SCALES = {"gpu": {"experts": 8, "tokens": 4096, "in_features": 768, "out_features": 1024}}
HIDDEN = [{"tokens": 1}, {"tokens": 29}, {"tokens": 149}]


def get_inputs() -> list[torch.Tensor]:
    return [
        torch.randn(tokens, in_features),
        torch.softmax(2.0 * torch.randn(tokens, experts), dim=1),
    ]


def get_init_inputs() -> list:
    return [experts, in_features, out_features]
