"""One AdamW step, Adam with weight decay applied to the parameter directly. Returns the new
parameter and both moments."""

import math

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(
        self, lr: float, beta1: float, beta2: float, eps: float, weight_decay: float, step: int
    ) -> None:
        super().__init__()
        self.lr = lr
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps
        self.weight_decay = weight_decay
        self.step = step

    def forward(
        self, param: torch.Tensor, grad: torch.Tensor, first: torch.Tensor, second: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        new_first = torch.lerp(first, grad, 1.0 - self.beta1)
        new_second = torch.lerp(second, grad * grad, 1.0 - self.beta2)
        scale = math.sqrt(1.0 - self.beta2**self.step) / (1.0 - self.beta1**self.step)
        update = scale * new_first / (torch.sqrt(new_second) + self.eps)
        new_param = param * (1.0 - self.lr * self.weight_decay) - self.lr * update
        return new_param, new_first, new_second


rows = 640
cols = 1024
lr = 0.1
beta1 = 0.9
beta2 = 0.95
eps = 1e-6
weight_decay = 0.1
step = 20

SCALES = {"gpu": {"rows": 8192, "cols": 4096}}
HIDDEN = [{"rows": 3, "cols": 101}, {"rows": 37, "cols": 1009}, {"rows": 1, "cols": 7919}]


def get_inputs() -> list[torch.Tensor]:
    second = 0.1 + torch.rand(rows, cols)
    return [torch.randn(rows, cols), torch.randn(rows, cols), torch.randn(rows, cols), second]


def get_init_inputs() -> list:
    return [lr, beta1, beta2, eps, weight_decay, step]
