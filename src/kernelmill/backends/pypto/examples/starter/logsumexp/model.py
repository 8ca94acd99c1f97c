import pypto
import torch
import torch.nn as nn


# An infinite maximum is not subtracted: inf - inf is NaN.
@pypto.frontend.jit
def logsumexp_kernel(x: pypto.Tensor([], pypto.DT_FP32), y: pypto.Tensor([], pypto.DT_FP32)):
    pypto.set_vec_tile_shapes(2, 4096)
    top = pypto.amax(x, -1, True)
    top = pypto.where(pypto.abs(top) > 3.4028234663852886e38, 0.0, top)
    y[:] = pypto.log(pypto.sum(pypto.exp(x - top), -1, True)) + top


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
        logsumexp_kernel(x, y.view(-1, 1))
        return y
