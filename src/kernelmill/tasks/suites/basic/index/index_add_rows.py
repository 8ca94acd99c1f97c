"""Adds source rows to the rows of a base matrix named by an index with many repeats, as in graph
message passing."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(
        self, base: torch.Tensor, index: torch.Tensor, source: torch.Tensor
    ) -> torch.Tensor:
        return torch.index_add(base, 0, index, source)


nodes = 4096
edges = 14000
features = 512

SCALES = {"gpu": {"nodes": 65536, "edges": 262144, "features": 512}}
HIDDEN = [{"nodes": 7, "edges": 101}, {"nodes": 211, "edges": 1009, "features": 37}]


def get_inputs() -> list[torch.Tensor]:
    index = torch.randint(0, nodes, (edges,))
    return [torch.randn(nodes, features), index, torch.randn(edges, features)]


def get_init_inputs() -> list:
    return []
