import pypto
import torch
import torch.nn as nn


# Many short rows a task.
@pypto.frontend.jit
def layer_norm_kernel(
    x: pypto.Tensor([], pypto.DT_FP32),
    weight: pypto.Tensor([], pypto.DT_FP32),
    bias: pypto.Tensor([], pypto.DT_FP32),
    y: pypto.Tensor([], pypto.DT_FP32),
    share: float,
    eps: float,
):
    pypto.set_vec_tile_shapes(128, 96)
    centred = x - pypto.sum(x, -1, True) * share
    variance = pypto.sum(centred * centred, -1, True) * share
    y[:] = centred / pypto.sqrt(variance + eps) * weight + bias


class ModelNew(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        weight = self.norm.weight.view(1, -1)
        bias = self.norm.bias.view(1, -1)
        layer_norm_kernel(x, weight, bias, y, 1.0 / x.shape[-1], self.norm.eps)
        return y
