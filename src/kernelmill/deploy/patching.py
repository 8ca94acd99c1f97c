"""Graphs with kernels put in for regions."""

import operator
from collections.abc import Callable, Collection, Mapping
from typing import Any

import torch
from torch import fx
from torch.fx.passes.tools_common import legalize_graph

from kernelmill.deploy.capture import Capture
from kernelmill.deploy.region_tasks import RegionTask
from kernelmill.shipped.operators import Kernel

Run = Callable[..., Any]
_VIEWS_BY_STRIDE = (torch.ops.aten.view.default, torch.ops.aten._unsafe_view.default)
"""Operators that fail for some strides, where a reshape copies."""


class PatchedCall:
    """A call of a kernel within a graph: directly, or as an operator where somebody looks on."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.__name__ = kernel.name

    def __call__(self, *tensors: torch.Tensor) -> Any:
        if torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack():
            return self.kernel.operator(*tensors)
        return self.kernel.run(*tensors)


def patch_graph(
    capture: Capture, tasks: Collection[RegionTask], kernels: Mapping[str, Kernel]
) -> fx.GraphModule:
    """A copy of the captured graph, in which the regions of these tasks call their kernels."""
    graph = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {}
    output = graph.graph_copy(capture.graph.graph, copies)
    graph.output(output)
    for node in graph.nodes:
        # A kernel's output is contiguous where the captured one may have been permuted.
        if node.target in _VIEWS_BY_STRIDE:
            node.target = torch.ops.aten.reshape.default
    for task in tasks:
        call = PatchedCall(kernels[task.name])
        for region, arguments in zip(task.regions, task.arguments, strict=True):
            _replace(graph, call, region.nodes, region.outputs, arguments, copies)
    patched: fx.GraphModule = legalize_graph(fx.GraphModule({}, graph))
    patched.graph.lint()
    return patched


def _replace(
    graph: fx.Graph,
    call: PatchedCall,
    nodes: tuple[fx.Node, ...],
    outputs: tuple[fx.Node, ...],
    arguments: tuple[fx.Node, ...],
    copies: dict[fx.Node, fx.Node],
) -> None:
    order = {node: number for number, node in enumerate(graph.nodes)}
    given = tuple(copies[node] for node in arguments)
    inside = {copies[node] for node in nodes}
    # Its region is convex, so there is an order in which it precedes all that need it.
    last = max(given, key=lambda node: order[node])
    with graph.inserting_after(last):
        result = graph.call_function(call, given)
    previous = result
    for number, old in enumerate(outputs):
        new = result
        if len(outputs) > 1:
            with graph.inserting_after(previous):
                new = graph.call_function(operator.getitem, (result, number))
            previous = new
        copies[old].replace_all_uses_with(new, delete_user_cb=lambda user: user not in inside)
        copies[old] = new
    for node in reversed([copy for copy in graph.nodes if copy in inside]):
        graph.erase_node(node)
