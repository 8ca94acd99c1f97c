"""One step of gradient descent with Nesterov momentum, returning the new parameter and momentum.
The look-ahead uses the updated momentum."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, lr: float, beta: float) -> None:
        super().__init__()
        self.lr = lr
        self.beta = beta

    def forward(
        self, param: torch.Tensor, grad: torch.Tensor, momentum: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        new_momentum = self.beta * momentum + grad
        direction = grad + self.beta * new_momentum
        return param - self.lr * direction, new_momentum


rows = 1024
cols = 1536
lr = 0.1
beta = 0.8

SCALES = {"gpu": {"rows": 8192, "cols": 6144}}
HIDDEN = [{"rows": 3, "cols": 101}, {"rows": 37, "cols": 1009}, {"rows": 1, "cols": 7919}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, cols), torch.randn(rows, cols), torch.randn(rows, cols)]


def get_init_inputs() -> list:
    return [lr, beta]
