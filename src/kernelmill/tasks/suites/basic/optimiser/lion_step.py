"""One Lion step: the parameter moves by the sign of a blend of momentum and gradient, and decays.
Inputs keep the blend away from zero, where rounding would pick the sign."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, lr: float, beta1: float, beta2: float, weight_decay: float) -> None:
        super().__init__()
        self.lr = lr
        self.beta1 = beta1
        self.beta2 = beta2
        self.weight_decay = weight_decay

    def forward(
        self, param: torch.Tensor, grad: torch.Tensor, momentum: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        direction = torch.sign(self.beta1 * momentum + (1.0 - self.beta1) * grad)
        new_param = param * (1.0 - self.lr * self.weight_decay) - self.lr * direction
        new_momentum = self.beta2 * momentum + (1.0 - self.beta2) * grad
        return new_param, new_momentum


rows = 1024
cols = 1024
lr = 0.1
beta1 = 0.9
beta2 = 0.95
weight_decay = 0.1

SCALES = {"gpu": {"rows": 8192, "cols": 6144}}
HIDDEN = [{"rows": 3, "cols": 101}, {"rows": 37, "cols": 1009}, {"rows": 1, "cols": 7919}]


def get_inputs() -> list[torch.Tensor]:
    momentum = torch.randn(rows, cols)
    grad = 4.0 * torch.randn(rows, cols)
    blend = beta1 * momentum + (1.0 - beta1) * grad
    grad = torch.where(blend.abs() < 1e-3, grad + 1.0, grad)
    return [torch.randn(rows, cols), grad, momentum]


def get_init_inputs() -> list:
    return [lr, beta1, beta2, weight_decay]
