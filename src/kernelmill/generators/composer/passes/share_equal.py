"""Rewrite: common subexpressions. What is computed twice from the same is computed once."""

from msgspec.structs import replace

from kernelmill.generators.composer.ir.graph import Graph, Reference
from kernelmill.generators.composer.passes.editor import Editor, references_of

_CHEAP = frozenset(
    """view _unsafe_view reshape unsqueeze squeeze permute t transpose expand slice select
    split_with_sizes split unbind chunk alias detach clone full scalar_tensor arange _to_copy
    add sub mul neg abs relu where eq ne lt le gt ge logical_and logical_or logical_not""".split()
)
"""Operators that cost next to nothing: to share some of these alone is no gain."""
_PRODUCTS = frozenset("mm bmm addmm baddbmm convolution".split())
"""Operators that may prepare their operands: once for all that have the same."""
_RANDOM = frozenset("rand rand_like randn randn_like randint bernoulli native_dropout".split())


def share_equal(graph: Graph) -> Graph:
    editor = Editor(graph)
    first: dict[str, str] = {}
    shared: set[str] = set()
    readers: dict[str, str] = {}
    """The first product that reads a node."""
    gain = False
    for given in graph.nodes:
        node = editor.renamed(given)
        name = node.op.partition(".")[0]
        if name in _PRODUCTS:
            for operand in references_of(node):
                reader = readers.setdefault(operand.node, node.name)
                gain = gain or (operand.node in shared and reader != node.name)
        key = repr(replace(node, name=""))
        if key not in first or name in _RANDOM:
            first[key] = node.name
            editor.add(node)
            continue
        same = (Reference(first[key], part) for part in range(len(node.results)))
        editor.replace(node, *same)
        shared.add(first[key])
        gain = gain or name not in _CHEAP
    return editor.graph() if gain else graph
