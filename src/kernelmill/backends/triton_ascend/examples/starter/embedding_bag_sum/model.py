import torch
import torch.nn as nn
import triton
import triton.language as tl

CORES = 40


# The scalar unit reads an index, and a copy brings its row of the table. The loop over a bag lets
# the copy of the next row overlap the addition of this one.
@triton.jit
def embedding_bag_sum_kernel(weight, indices, y, bags, bag, features, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    inside = column < features
    for row in range(tl.program_id(0), bags, tl.num_programs(0)):
        total = tl.zeros([BLOCK], tl.float32)
        for position in range(bag):
            entry = tl.load(indices + row * bag + position)
            total += tl.load(weight + entry * features + column, mask=inside, other=0.0)
        tl.store(y + row * features + column, total, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, entries: int, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(entries, features))

    def forward(self, indices: torch.Tensor) -> torch.Tensor:
        bags, bag = indices.shape
        features = self.weight.shape[1]
        y = torch.empty(bags, features, dtype=self.weight.dtype, device=self.weight.device)
        block = triton.next_power_of_2(features)
        embedding_bag_sum_kernel[(min(CORES, bags),)](
            self.weight, indices, y, bags, bag, features, BLOCK=block
        )
        return y
