"""Graph pass: what is stored in half precision is computed in float32.

Inputs and parameters are converted where they are read, results where they are written. Nothing
in between is rounded, so sums and products are as exact as those of a float32 reference.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kernelmill.generators.composer.ir.graph import Graph, Node, Reference, Source, TensorSpec
from kernelmill.records.tensors import HALF_TYPES, is_floating

_WIDE = "float32"


def widen(graph: Graph) -> Graph:
    """The same results, by operators that know no half precision but to convert it."""
    dtypes = {source.kind.dtype for source in graph.sources}
    dtypes |= {kind.dtype for node in graph.nodes for kind in node.results}
    if not dtypes & set(HALF_TYPES):
        return graph
    sources = [_wide_constant(s) if s.origin == "constant" else s for s in graph.sources]
    converted = [source for source in sources if _is_half(source.kind)]
    names = {source.name: f"{source.name}_{_WIDE}" for source in converted}
    nodes = [_conversion(names[s.name], Reference(s.name), s.kind, _WIDE) for s in converted]
    nodes += [_widened(node, names) for node in graph.nodes]
    outputs = list(_outputs(graph, names))
    return replace(
        graph,
        sources=tuple(sources),
        nodes=(*nodes, *(made for made in outputs if isinstance(made, Node))),
        outputs=tuple(Reference(m.name) if isinstance(m, Node) else m for m in outputs),
        half=_only_float(dtypes),
    )


def _only_float(dtypes: set[str]) -> str:
    floats = {dtype for dtype in dtypes if is_floating(dtype)}
    return floats.pop() if len(floats) == 1 else ""


def _outputs(graph: Graph, names: dict[str, str]) -> Iterator[Node | Reference]:
    """What is returned, or the conversion that makes it."""
    kinds = {Reference(source.name): source.kind for source in graph.sources}
    for node in graph.nodes:
        kinds |= {Reference(node.name, part): kind for part, kind in enumerate(node.results)}
    for number, output in enumerate(graph.outputs):
        kind, wide = kinds[output], _renamed(output, names)
        yield _conversion(f"result_{number}", wide, kind, kind.dtype) if _is_half(kind) else wide


def _is_half(kind: TensorSpec) -> bool:
    return kind.dtype in HALF_TYPES


def _wide_kind(kind: TensorSpec) -> TensorSpec:
    return TensorSpec(_WIDE, kind.shape) if _is_half(kind) else kind


def _wide_constant(source: Source) -> Source:
    return replace(source, kind=_wide_kind(source.kind))


def _conversion(name: str, source: Reference, kind: TensorSpec, dtype: str) -> Node:
    results = (TensorSpec(dtype, kind.shape),)
    return Node(name, "_to_copy", [source], {"dtype": dtype}, results)


def _widened(node: Node, names: dict[str, str]) -> Node:
    return replace(
        node,
        arguments=_renamed(node.arguments, names),
        keywords={key: _renamed(value, names) for key, value in node.keywords.items()},
        results=tuple(_wide_kind(kind) for kind in node.results),
    )


def _renamed(argument: Any, names: dict[str, str]) -> Any:
    """An argument without half precision, be it a tensor of that type or the type itself."""
    if isinstance(argument, Reference):
        return replace(argument, node=names.get(argument.node, argument.node))
    if isinstance(argument, str) and argument in HALF_TYPES:
        return _WIDE
    if isinstance(argument, Sequence) and not isinstance(argument, str):
        return [_renamed(item, names) for item in argument]
    return argument
