import pypto
import torch
import torch.nn as nn


# Eight rows a task: dispatching a task costs more than a row.
@pypto.frontend.jit
def softmax_kernel(x: pypto.Tensor([], pypto.DT_FP32), y: pypto.Tensor([], pypto.DT_FP32)):
    pypto.set_vec_tile_shapes(8, 2048)
    exponential = pypto.exp(x - pypto.amax(x, -1, True))
    y[:] = exponential / pypto.sum(exponential, -1, True)


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(x)
        softmax_kernel(x, y)
        return y
