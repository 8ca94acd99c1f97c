"""One RMSprop step, returning the new parameter and the running mean of squared gradients."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, lr: float, alpha: float, eps: float) -> None:
        super().__init__()
        self.lr = lr
        self.alpha = alpha
        self.eps = eps

    def forward(
        self, param: torch.Tensor, grad: torch.Tensor, square: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        new_square = self.alpha * square + (1.0 - self.alpha) * grad * grad
        return param - self.lr * grad / (torch.sqrt(new_square) + self.eps), new_square


rows = 1024
cols = 1024
lr = 0.1
alpha = 0.9
eps = 1e-6

SCALES = {"gpu": {"rows": 8192, "cols": 6144}}
HIDDEN = [{"rows": 3, "cols": 101}, {"rows": 37, "cols": 1009}, {"rows": 1, "cols": 7919}]


def get_inputs() -> list[torch.Tensor]:
    square = 0.1 + torch.rand(rows, cols)
    return [torch.randn(rows, cols), torch.randn(rows, cols), square]


def get_init_inputs() -> list:
    return [lr, alpha, eps]
