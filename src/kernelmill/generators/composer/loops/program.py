"""The source of a candidate in loops: its kernels in order, and the function around them."""

from abc import abstractmethod
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

from kernelmill.generators.composer.bufferize import Bufferizer, reaches
from kernelmill.generators.composer.ir.expressions import Expression
from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.ir.index import EDGE, product
from kernelmill.generators.composer.ir.values import (
    Apart,
    Attention,
    Buffer,
    Contract,
    Unfit,
    Value,
)
from kernelmill.generators.composer.loops.apart import emit_apart
from kernelmill.generators.composer.loops.constants import constant_lines
from kernelmill.generators.composer.loops.cpp import CTYPES
from kernelmill.generators.composer.loops.nest import emit_nest
from kernelmill.generators.composer.loops.printer import indented
from kernelmill.generators.composer.loops.statements import Statement, Statements, expressions
from kernelmill.generators.composer.plan import Plan
from kernelmill.records.task import Task
from kernelmill.records.tensors import HALF_TYPES

SHARED_HEADERS = files("kernelmill.generators.composer.loops") / "runtime"
"""Where the run time of both targets lies."""


class Kernel(NamedTuple):
    kind: str
    """`nest`, `contraction` or `attention`."""
    comment: str
    lines: list[Statement]


class LoopProgram(Bufferizer):
    """The source of a candidate whose kernels are loops."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.kernels: list[Kernel] = []
        super().__init__(graph, plan)

    @property
    def kinds(self) -> set[str]:
        return {kernel.kind for kernel in self.kernels}

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

    @abstractmethod
    def _contraction(self, contract: Contract, value: Value, target: Buffer) -> list[Statement]:
        """The statements of one contraction, and of what becomes of its sums."""

    @abstractmethod
    def _attention(self, value: Attention, target: Buffer) -> list[Statement]:
        """The statements of one attention."""

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

    @abstractmethod
    def _includes(self) -> list[str]:
        """Lines at the top of the source."""

    @abstractmethod
    def _printed(self, statements: Statements) -> list[str]:
        """Statements as lines, with demands in the target's own words."""

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

    @abstractmethod
    def _entry(self, task: Task) -> list[str]:
        """The function that is called from outside; its lines end with `_calls`."""

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
