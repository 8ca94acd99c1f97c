"""One Adagrad step, returning the new parameter and the accumulated squared gradients."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, lr: float, eps: float) -> None:
        super().__init__()
        self.lr = lr
        self.eps = eps

    def forward(
        self, param: torch.Tensor, grad: torch.Tensor, total: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        new_total = total + grad * grad
        return param - self.lr * grad / (torch.sqrt(new_total) + self.eps), new_total


rows = 1024
cols = 1536
lr = 0.3
eps = 1e-6

SCALES = {"gpu": {"rows": 8192, "cols": 6144}}
HIDDEN = [{"rows": 3, "cols": 101}, {"rows": 37, "cols": 1009}, {"rows": 1, "cols": 7919}]


def get_inputs() -> list[torch.Tensor]:
    total = 0.1 + torch.rand(rows, cols)
    return [torch.randn(rows, cols), torch.randn(rows, cols), total]


def get_init_inputs() -> list:
    return [lr, eps]
