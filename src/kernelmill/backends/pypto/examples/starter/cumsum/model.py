import pypto
import torch
import torch.nn as nn


# A tile holds whole rows where they are short enough. A larger one does not fit with its copies.
@pypto.frontend.jit
def cumsum_kernel(x: pypto.Tensor([], pypto.DT_FP32), y: pypto.Tensor([], pypto.DT_FP32)):
    pypto.set_vec_tile_shapes(1, 1024)
    y[:] = pypto.cumsum(x, 1)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        cumsum_kernel(x, y)
        return y
