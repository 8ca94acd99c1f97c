"""Tensors that are neither inputs nor state: part of the program."""

from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.loops.cpp import CTYPES, cpp
from kernelmill.generators.composer.lowering.registry import literal


def constant_lines(graph: Graph) -> list[str]:
    lines = []
    for source in graph.sources:
        if source.origin == "constant":
            ctype, values = CTYPES[source.kind.dtype], source.values or (0,)
            numbers = ", ".join(cpp(literal(value, source.kind.dtype)) for value in values)
            lines.append(f"const {ctype} in_{source.name}[] = {{{numbers}}};")
    return [*lines, ""] if lines else []
