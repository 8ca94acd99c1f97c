"""One Adam step with bias correction, returning the new parameter and both moments. Four inputs,
three outputs and one pass."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, lr: float, beta1: float, beta2: float, eps: float, step: int) -> None:
        super().__init__()
        self.lr = lr
        self.beta1 = beta1
        self.beta2 = beta2
        self.eps = eps
        self.step = step

    def forward(
        self, param: torch.Tensor, grad: torch.Tensor, first: torch.Tensor, second: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        new_first = self.beta1 * first + (1.0 - self.beta1) * grad
        new_second = self.beta2 * second + (1.0 - self.beta2) * grad * grad
        corrected_first = new_first / (1.0 - self.beta1**self.step)
        corrected_second = new_second / (1.0 - self.beta2**self.step)
        new_param = param - self.lr * corrected_first / (torch.sqrt(corrected_second) + self.eps)
        return new_param, new_first, new_second


rows = 512
cols = 1024
lr = 0.1
beta1 = 0.9
beta2 = 0.95
eps = 1e-6
step = 10

SCALES = {"gpu": {"rows": 8192, "cols": 4096}}
HIDDEN = [{"rows": 3, "cols": 101}, {"rows": 37, "cols": 1009}, {"rows": 1, "cols": 7919}]


def get_inputs() -> list[torch.Tensor]:
    second = 0.1 + torch.rand(rows, cols)
    return [torch.randn(rows, cols), torch.randn(rows, cols), torch.randn(rows, cols), second]


def get_init_inputs() -> list:
    return [lr, beta1, beta2, eps, step]
