import pypto
import torch
import torch.nn as nn


# Rows of the table, 64 a task.
@pypto.frontend.jit
def gather_kernel(
    weight: pypto.Tensor([], pypto.DT_FP32),
    indices: pypto.Tensor([], pypto.DT_INT64),
    rows: pypto.Tensor([], pypto.DT_FP32),
):
    pypto.set_vec_tile_shapes(64, 128)
    rows[:] = pypto.index_select(weight, 0, indices)


@pypto.frontend.jit
def sum_kernel(rows: pypto.Tensor([], pypto.DT_FP32), y: pypto.Tensor([], pypto.DT_FP32)):
    pypto.set_vec_tile_shapes(4, 32, 128)
    y[:] = pypto.sum(rows, 1, True)


class ModelNew(nn.Module):
    def __init__(self, entries: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(entries, features))

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        bags, bag = indices.shape
        features = self.weight.shape[1]
        options = {"dtype": self.weight.dtype, "device": self.weight.device}
        rows = torch.empty(bags * bag, features, **options)
        y = torch.empty(bags, features, **options)
        gather_kernel(self.weight, indices.view(-1), rows)
        sum_kernel(rows.view(bags, bag, features), y.view(bags, 1, features))
        return y
