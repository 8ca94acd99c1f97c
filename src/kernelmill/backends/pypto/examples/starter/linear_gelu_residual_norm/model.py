import pypto
import torch
import torch.nn as nn


@pypto.frontend.jit
def linear_kernel(
    x: pypto.Tensor([], pypto.DT_FP32),
    weight: pypto.Tensor([], pypto.DT_FP32),
    h: pypto.Tensor([], pypto.DT_FP32),
):
    pypto.set_cube_tile_shapes([128, 128], [64, 64], [128, 128])
    h[:] = pypto.matmul(x, weight, pypto.DT_FP32, b_trans=True)


# Whole rows a task: GELU, the residual and the norm in one trip through the unified buffer. There
# is no erf: its complement is an exponential of a polynomial.
@pypto.frontend.jit
def gelu_residual_norm_kernel(
    h: pypto.Tensor([], pypto.DT_FP32),
    x: pypto.Tensor([], pypto.DT_FP32),
    bias: pypto.Tensor([], pypto.DT_FP32),
    gain: pypto.Tensor([], pypto.DT_FP32),
    y: pypto.Tensor([], pypto.DT_FP32),
    share: float,
    eps: float,
):
    pypto.set_vec_tile_shapes(16, 256)
    u = h + bias
    a = pypto.minimum(pypto.abs(u), 7.0)
    q = a * -1.85027604e-10 + 8.74788686e-09
    q = q * a - 1.85709538e-07
    q = q * a + 2.33335209e-06
    q = q * a - 1.91317486e-05
    q = q * a + 0.000104300416
    q = q * a - 0.000338416226
    q = q * a + 7.4608688e-05
    q = q * a + 0.00689353095
    q = q * a - 0.0524225235
    q = q * a - 0.459223092
    q = q * a - 1.15110421
    e = pypto.exp(a * q * 0.6931471805599453)
    r = x + u * pypto.where(u > 0.0, e * -1.0 + 2.0, e) * 0.5
    mean = pypto.sum(r * r, -1, True) * share
    y[:] = r / pypto.sqrt(mean + eps) * gain


class ModelNew(nn.Module):
    def __init__(self, features: int, eps: float) -> None:
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.RMSNorm(features, eps=eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = torch.empty_like(x)
        y = torch.empty_like(x)
        linear_kernel(x, self.linear.weight, h)
        bias = self.linear.bias.view(1, -1)
        gain = self.norm.weight.view(1, -1)
        gelu_residual_norm_kernel(h, x, bias, gain, y, 1.0 / x.shape[1], self.norm.eps)
        return y
