"""A whole candidate: which values are stored, in what order, and the files around them."""

from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from kernelmill.generators.composer.bufferize import Bufferizer, reaches
from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.apart import emit_apart
from kernelmill.generators.composer.emit.attention import blocks_of, emit_attention
from kernelmill.generators.composer.emit.constants import constant_lines
from kernelmill.generators.composer.emit.contraction import emit_contraction
from kernelmill.generators.composer.emit.loops import CppLoops, indented
from kernelmill.generators.composer.emit.model import emit_model
from kernelmill.generators.composer.emit.nest import emit_nest
from kernelmill.generators.composer.emit.runtime import headers
from kernelmill.generators.composer.emit.scope import Unfit
from kernelmill.generators.composer.graph import Graph
from kernelmill.generators.composer.index import EDGE, product
from kernelmill.generators.composer.ir.cpp import CTYPES
from kernelmill.generators.composer.ir.expressions import Expression
from kernelmill.generators.composer.ir.loops import Statement, Statements, expressions
from kernelmill.generators.composer.values import (
    Apart,
    Attention,
    Buffer,
    Contract,
    Value,
)
from kernelmill.records.task import Task
from kernelmill.records.tensors import HALF_TYPES

RUNTIME = files("kernelmill.generators.composer") / "runtime"
_STANDARD = ("algorithm", "cmath", "cstdint", "limits", "omp.h", "utility")


class Kernel(NamedTuple):
    kind: str
    """`nest`, `contraction` or `attention`."""
    comment: str
    lines: list[Statement]


class Program(Bufferizer):
    """A candidate in C++."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.kernels: list[Kernel] = []
        super().__init__(graph, plan)

    @property
    def kinds(self) -> set[str]:
        return {kernel.kind for kernel in self.kernels}

    def files(self, task: Task) -> dict[str, str]:
        runtime = headers(self._headers(), [RUNTIME])
        model = emit_model(self.graph, task, [(b.shape, b.dtype) for b in self.outputs])
        return {"model.py": model, "kernel.cpp": self._source(task), **runtime}

    def _emit(self, value: Value, target: Buffer) -> None:
        kind, lines = self._lines(value, target)
        comment = f"{target.name}: {value.dtype} [{', '.join(e.code for e in value.shape)}]"
        self.kernels.append(Kernel(kind, comment, lines))

    def _lines(self, value: Value, target: Buffer) -> tuple[str, list[Statement]]:
        if isinstance(value, Attention):
            return "attention", self._attention(value, target)
        if isinstance(value, Apart):
            return "nest", emit_apart(value, target, self._plan, self._stored)
        contract = self._contract_under(value)
        if contract is None:
            return "nest", emit_nest(value, target, self._plan, self._stored, self._shared)
        try:
            lines = self._contraction(contract, value, target)
        except Unfit as unfit:
            # A fold of the contraction's own sums has to wait for all of them.
            raise Unfit(contract) if reaches(unfit.value, contract) else unfit from unfit
        return "contraction", lines

    def _contraction(self, contract: Contract, value: Value, target: Buffer) -> list[Statement]:
        return emit_contraction(contract, value, target, self._plan, self._stored)

    def _attention(self, value: Attention, target: Buffer) -> list[Statement]:
        return emit_attention(value, target, self._stored, blocks_of(value))

    def _source(self, task: Task) -> str:
        symbols = list(self.graph.symbols)
        templates = [f"long fixed_{s}" for s in symbols]
        lines = [
            *self._includes(),
            "",
            "using km::floordiv, km::larger, km::modulo, km::smaller;",
            *self._conversions(),
            "",
            "namespace {",
            "",
        ]
        lines += constant_lines(self.graph)
        if templates:
            lines.append(f"template <{', '.join(templates)}>")
        lines.append(f"void run({', '.join(self._parameters())}) {{")
        lines += [f"  const long {s} = fixed_{s} < 0 ? size_{s} : fixed_{s};" for s in symbols]
        lines += [f"  const double {name} = {code};" for code, name in self._numbers.items()]
        if any(EDGE.name in tree.names for tree in self._expressions()):
            lines.append(f"  const long {EDGE.name} = km::hidden_zero();")
        for buffer in self._scratch:
            ctype, count = CTYPES[buffer.dtype], product(buffer.shape).code
            lines.append(f"  const km::Memory<{ctype}> memory_{buffer.name}({count});")
            lines.append(f"  {ctype}* __restrict {buffer.name} = memory_{buffer.name};")
        for kernel in self.kernels:
            lines += ["", f"  // {kernel.comment}", "  {"]
            lines += indented(indented(self._printed(kernel.lines)))
            lines.append("  }")
        lines += ["}", "", "}  // namespace", "", *self._entry(task), ""]
        return "\n".join(lines)

    def _headers(self) -> list[str]:
        used = sorted(f"{kind}.hpp" for kind in self.kinds - {"nest"})
        half = ["half.hpp"] if self._has_half() else []
        return ["vector_math.hpp", "support.hpp", "scan.hpp", *half, *used]

    def _conversions(self) -> list[str]:
        half = "using km::from_half, km::to_bfloat16, km::to_float16;"
        return [half] if self._has_half() else []

    def _has_half(self) -> bool:
        types = {source.kind.dtype for source in self.graph.sources}
        return bool((types | {buffer.dtype for buffer in self.outputs}) & set(HALF_TYPES))

    def _includes(self) -> list[str]:
        first, *others = (f'#include "{name}"' for name in self._headers())
        return [first, "", *(f"#include <{name}>" for name in _STANDARD), "", *others]

    def _printed(self, lines: Statements) -> list[str]:
        return CppLoops(vectors=bool(self._plan.vectorise)).lines(lines)

    def _expressions(self) -> Iterator[Expression]:
        """All that kernels compute."""
        for kernel in self.kernels:
            yield from expressions(kernel.lines)

    def _parameters(self) -> list[str]:
        parameters = [
            f"const {CTYPES[source.kind.dtype]}* __restrict in_{source.name}"
            for source in self.graph.sources
            if source.origin != "constant"
        ]
        parameters += [f"{CTYPES[b.dtype]}* __restrict {b.name}" for b in self.outputs]
        return parameters + [f"long size_{s}" for s in self.graph.symbols]

    def _entry(self, task: Task) -> list[str]:
        head = f'extern "C" void forward({", ".join(self._parameters())}) {{'
        return [head, *(f"  {line}" for line in self._calls()), "}"]

    def _calls(self) -> list[str]:
        """The body for the sizes at hand, by the names of its parameters."""
        names = [parameter.split()[-1] for parameter in self._parameters()]
        symbols = self.graph.symbols
        call = f"({', '.join(names)});"
        if not symbols:
            return [f"run{call}"]
        lines = []
        if self._plan.specialise:
            shown = " && ".join(f"size_{s} == {place[2]}" for s, place in symbols.items())
            values = ", ".join(str(place[2]) for place in symbols.values())
            lines.append(f"if ({shown}) return run<{values}>{call}")
        return [*lines, f"run<{', '.join(['-1'] * len(symbols))}>{call}"]
