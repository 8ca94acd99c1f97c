"""One step of gradient descent with weight decay and momentum, returning the new parameter and
momentum. A single pass over three inputs."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, lr: float, beta: float, weight_decay: float) -> None:
        super().__init__()
        self.lr = lr
        self.beta = beta
        self.weight_decay = weight_decay

    def forward(
        self, param: torch.Tensor, grad: torch.Tensor, momentum: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        decayed = grad + self.weight_decay * param
        new_momentum = self.beta * momentum + decayed
        return param - self.lr * new_momentum, new_momentum


rows = 1024
cols = 1536
lr = 0.1
beta = 0.9
weight_decay = 0.05

SCALES = {"gpu": {"rows": 8192, "cols": 6144}}
HIDDEN = [{"rows": 3, "cols": 101}, {"rows": 37, "cols": 1009}, {"rows": 1, "cols": 7919}]


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, cols), torch.randn(rows, cols), torch.randn(rows, cols)]


def get_init_inputs() -> list:
    return [lr, beta, weight_decay]
