"""Regions of a graph that are worth a kernel: connected, convex, and without library calls."""

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import fx

_LIBRARY = frozenset(
    "linear matmul mm addmm bmm baddbmm addbmm addmv mv dot einsum conv1d conv2d conv3d "
    "convolution conv_transpose1d conv_transpose2d conv_transpose3d lstm gru "
    "scaled_dot_product_attention _scaled_dot_product_flash_attention_for_cpu "
    "_scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention "
    "_scaled_dot_product_cudnn_attention _native_multi_head_attention".split()
)
"""Operators that libraries do well; a region ends at them."""
_BARRIERS = frozenset(
    "split split_with_sizes chunk unbind sort topk nonzero unique _unique2 item masked_select "
    "_local_scalar_dense multinomial index_put scatter_reduce sym_size _assert_scalar "
    "_assert_tensor_metadata".split()
)
_VIEWS = frozenset(
    "view reshape _unsafe_view permute transpose t mT numpy_T expand expand_as unsqueeze squeeze "
    "slice select narrow alias detach flatten unflatten "
    "contiguous movedim swapaxes lift_fresh_copy view_as unfold diagonal".split()
)
"""Operators that mostly cost nothing, so that no region consists of them alone."""
_MADE = frozenset(
    "arange full zeros ones empty scalar_tensor full_like zeros_like ones_like".split()
)
_GATHERS = frozenset(
    "max_pool1d max_pool2d max_pool3d max_pool2d_with_indices avg_pool1d avg_pool2d avg_pool3d "
    "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_max_pool2d upsample_nearest1d "
    "upsample_nearest2d upsample_bilinear2d upsample_bicubic2d upsample_linear1d grid_sampler_2d "
    "index index_select gather embedding embedding_bag take_along_dim im2col cumsum".split()
)
"""Operators that read an element many times, or in another order: computing what they read where
they read it would compute it many times."""
_REDUCTIONS = frozenset(
    "sum mean amax amin max min prod var var_mean std norm linalg_vector_norm argmax argmin any "
    "all softmax _softmax log_softmax _log_softmax logsumexp layer_norm native_layer_norm "
    "group_norm native_group_norm instance_norm rms_norm".split()
)
_JOINS = frozenset("cat stack concat".split())
_MOST_NODES = 200


class GraphRegion(NamedTuple):
    """Nodes of a graph that one kernel may replace, in order."""

    nodes: tuple[fx.Node, ...]
    inputs: tuple[fx.Node, ...]
    outputs: tuple[fx.Node, ...]

    @property
    def operators(self) -> tuple[str, ...]:
        return tuple(operator_name(node) for node in self.nodes if not is_view(node))


def operator_name(node: fx.Node) -> str:
    """`add` of aten.add.Tensor; empty for what is no call of an operator."""
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        return target._schema.name.partition("::")[2]
    return "getitem" if target is operator.getitem else ""


def is_view(node: fx.Node) -> bool:
    return operator_name(node) in _VIEWS


def is_fusible(node: fx.Node) -> bool:
    """Whether a node may be part of a region."""
    if node.op != "call_function":
        return False
    if node.target is operator.getitem:
        return is_fusible(node.all_input_nodes[0])
    name = operator_name(node)
    if not name or name in _LIBRARY or name in _BARRIERS:
        return False
    target = node.target
    if isinstance(target, torch._ops.OpOverload):
        if torch.Tag.nondeterministic_seeded in target.tags or target._schema.is_mutable:
            return name == "dropout" and node.args[2] is False
        if target.namespace != "aten":
            return False
    if not all(isinstance(one, torch.Tensor) for one in _values(node)):
        return False
    return not any(map(_is_complex, (node, *node.all_input_nodes)))


def find_regions(graph: fx.Graph) -> list[GraphRegion]:
    """Maximal regions, in the order of the graph."""
    nodes = list(graph.nodes)
    groups = _grow(nodes, is_fusible)
    regions = []
    for group in groups:
        kept = _trim(group)
        computing = [
            node for node in kept if not is_view(node) and operator_name(node) not in _MADE
        ]
        region = _region([node for node in nodes if node in kept])
        if computing and region.inputs and len(kept) <= _MOST_NODES:
            regions.append(region)
    position = {node: number for number, node in enumerate(nodes)}
    return sorted(regions, key=lambda region: position[region.nodes[0]])


def _grow(nodes: list[fx.Node], wanted: Callable[[fx.Node], bool]) -> Iterable[set[fx.Node]]:
    """Union of neighbours for as long as no path leaves a group and comes back."""
    bit = {node: 1 << number for number, node in enumerate(nodes)}
    above: dict[fx.Node, int] = {}
    for node in nodes:
        above[node] = 0
        for source in node.all_input_nodes:
            above[node] |= above[source] | bit[source]
    below: dict[fx.Node, int] = dict.fromkeys(nodes, 0)
    for node in reversed(nodes):
        for source in node.all_input_nodes:
            below[source] |= below[node] | bit[node]
    group_of: dict[fx.Node, set[fx.Node]] = {}
    for node in nodes:
        if not wanted(node):
            continue
        group_of[node] = {node}
        for source in node.all_input_nodes:
            if source not in group_of or group_of[source] is group_of[node]:
                continue
            joined = group_of[source] | group_of[node]
            if not _is_parting(node, group_of[source]) and _is_convex(joined, bit, above, below):
                for member in joined:
                    group_of[member] = joined
    unique = {id(group): group for group in group_of.values()}
    return unique.values()


def _is_parting(node: fx.Node, made: set[fx.Node]) -> bool:
    """Whether a node is better off with its inputs in memory."""
    name = operator_name(node)
    if name in _GATHERS:
        return any(not is_view(one) and operator_name(one) not in _MADE for one in made)
    if name in _JOINS:
        return any(operator_name(one) in _GATHERS | _REDUCTIONS for one in made)
    return False


def _is_convex(
    group: set[fx.Node],
    bit: dict[fx.Node, int],
    above: dict[fx.Node, int],
    below: dict[fx.Node, int],
) -> bool:
    own = upper = lower = 0
    for node in group:
        own |= bit[node]
        upper |= above[node]
        lower |= below[node]
    return not upper & lower & ~own


def _trim(group: set[fx.Node]) -> set[fx.Node]:
    """Without views at its ends that are needed outside, where they cost nothing."""
    kept = set(group)
    while ends := {node for node in kept if is_view(node) and _is_end(node, kept)}:
        kept -= ends
    return kept


def _is_end(node: fx.Node, kept: set[fx.Node]) -> bool:
    """Whether nothing in the group uses it, or nothing in the group makes it and others use it.

    A selection at the beginning differs from place to place where the region does not.
    """
    users = [user in kept for user in node.users]
    if not any(users):
        return True
    if any(source in kept for source in node.all_input_nodes):
        return False
    return not all(users) or operator_name(node) == "select"


def _region(nodes: list[fx.Node]) -> GraphRegion:
    inside = set(nodes)
    inputs = dict.fromkeys(
        source for node in nodes for source in node.all_input_nodes if source not in inside
    )
    outputs = [node for node in nodes if any(user not in inside for user in node.users)]
    return GraphRegion(tuple(nodes), tuple(inputs), tuple(outputs))


def _is_complex(node: fx.Node) -> bool:
    return any(isinstance(one, torch.Tensor) and one.is_complex() for one in _values(node))


def _values(node: fx.Node) -> list[Any]:
    value = node.meta.get("val")
    return list(value) if isinstance(value, list | tuple) else [value]
