"""Profile of a captured graph: seconds per node, and example values of the nodes that regions
read."""

import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import fx

from kernelmill.deploy.regions import GraphRegion

_RUNS = 4


class GraphProfile(NamedTuple):
    seconds: dict[fx.Node, float]
    """The fastest of a few runs, by node."""
    examples: dict[fx.Node, torch.Tensor]

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def of_region(self, region: GraphRegion) -> float:
        return sum(self.seconds.get(node, 0.0) for node in region.nodes)


class _Timed(fx.Interpreter):
    def __init__(self, graph: fx.GraphModule, kept: set[fx.Node]) -> None:
        super().__init__(graph)
        self.seconds: dict[fx.Node, list[float]] = defaultdict(list)
        self.examples: dict[fx.Node, torch.Tensor] = {}
        self._kept = kept

    def run_node(self, n: fx.Node) -> Any:
        begun = time.perf_counter()
        result = super().run_node(n)
        if isinstance(result, torch.Tensor) and result.device.type == "cuda":
            torch.cuda.synchronize()
        self.seconds[n].append(time.perf_counter() - begun)
        if n in self._kept:
            self.examples[n] = result
        return result


def profile_graph(
    graph: fx.GraphModule, values: Sequence[Any], regions: Sequence[GraphRegion]
) -> GraphProfile:
    kept = {node for region in regions for node in region.inputs}
    timed = _Timed(graph, kept)
    with torch.no_grad():
        for _ in range(_RUNS):
            timed.run(*values)
    seconds = {
        node: min(found) for node, found in timed.seconds.items() if node.op == "call_function"
    }
    return GraphProfile(seconds, timed.examples)
