"""Rewrite: a normalisation by running statistics is one scale and one shift for every channel.

Both are computed from parameters and buffers as they are at each call.
"""

from kernelmill.generators.composer.ir.graph import Graph, Node, Reference
from kernelmill.generators.composer.passes.calls import pointwise, rsqrt, view
from kernelmill.generators.composer.passes.editor import Editor, edited
from kernelmill.generators.composer.passes.sizes import ONE

_LEAST_RANK = 3
"""Without places beside the channels, both would be computed again for every element."""


def scale_and_shift(graph: Graph) -> Graph:
    return edited(graph, _instead)


def _instead(editor: Editor, node: Node) -> Reference | None:
    if node.op != "_native_batch_norm_legit_no_training":
        return None
    value, weight, bias, mean, variance, _momentum, epsilon = node.arguments
    if len(node.results[0].shape) < _LEAST_RANK:
        return None
    if any(editor.uses(Reference(node.name, part)) for part in range(1, len(node.results))):
        return None
    scale = rsqrt(editor, pointwise(editor, "add", variance, epsilon))
    if weight is not None:
        scale = pointwise(editor, "mul", scale, weight)
    back = pointwise(editor, "mul", mean, scale)
    if bias is None:
        shift = editor.call("neg", [back], editor.kind(back))
    else:
        shift = pointwise(editor, "sub", bias, back)
    shape = [editor.kind(scale).shape[0], *[ONE] * (len(node.results[0].shape) - 2)]
    scaled = pointwise(editor, "mul", value, view(editor, scale, shape))
    return pointwise(editor, "add", scaled, view(editor, shift, shape))
