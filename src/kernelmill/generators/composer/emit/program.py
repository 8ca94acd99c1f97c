"""A whole candidate: which values are stored, in what order, and the files around them."""

import re
from importlib.resources import files
from typing import NamedTuple

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.apart import emit_apart
from kernelmill.generators.composer.emit.attention import emit_attention
from kernelmill.generators.composer.emit.constants import constant_lines
from kernelmill.generators.composer.emit.contraction import emit_contraction
from kernelmill.generators.composer.emit.model import emit_model
from kernelmill.generators.composer.emit.nest import emit_nest
from kernelmill.generators.composer.emit.scope import Unfit
from kernelmill.generators.composer.graph import Graph
from kernelmill.generators.composer.index import EDGE, product
from kernelmill.generators.composer.lowering import Lowering
from kernelmill.generators.composer.values import (
    CTYPES,
    Apart,
    Attention,
    Buffer,
    Contract,
    Literal,
    Map,
    Value,
    View,
)
from kernelmill.tasks.task import Task

_RUNTIME = "kernelmill.generators.composer"
_STANDARD = ("algorithm", "cmath", "cstdint", "limits", "omp.h", "utility")


_VECTORS = re.compile(r"(\s*#pragma omp (?:parallel for )?)simd(?: simdlen\(\d+\))?\b ?")
_VECTORS_ALONE = re.compile(r"\s*#pragma omp simd\b")


class Kernel(NamedTuple):
    kind: str
    """`nest`, `contraction` or `attention`."""
    comment: str
    lines: list[str]


class Program:
    """Everything there is to write about one graph under one plan."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.graph = graph
        self.kernels: list[Kernel] = []
        self._plan = plan
        self._stored: dict[int, Buffer] = {}
        self._keep: list[Value] = []
        self._scratch: list[Buffer] = []
        self.outputs: list[Buffer] = []
        lowering = Lowering(graph, plan)
        values = lowering.run()
        self._numbers = lowering.numbers
        self._users = _users(values)
        self._shared = {number for number, users in self._users.items() if len(users) > 1}
        for number, value in enumerate(values):
            target = Buffer(f"out_{number}", value.shape, value.dtype)
            self.outputs.append(target)
            self._store(value, target)

    @property
    def kinds(self) -> set[str]:
        return {kernel.kind for kernel in self.kernels}

    def files(self, task: Task) -> dict[str, str]:
        chosen = {"vector_math.hpp", "support.hpp"}
        chosen |= {f"{kind}.hpp" for kind in self.kinds - {"nest"}}
        if "attention" in self.kinds:
            chosen.add("contraction.hpp")
        runtime = {name: (files(_RUNTIME) / "runtime" / name).read_text() for name in chosen}
        model = emit_model(self.graph, task, [(b.shape, b.dtype) for b in self.outputs])
        return {"model.py": model, "kernel.cpp": self._source(), **runtime}

    def _store(self, value: Value, target: Buffer) -> None:
        """Write the kernel that fills `target`, after those that it needs."""
        if isinstance(value, View) and value.in_order and self._unstored(value.inputs[0]):
            source = value.inputs[0]
            self._store(source, Buffer(target.name, source.shape, source.dtype))
            return
        while True:
            try:
                kernel = self._emit(value, target)
                break
            except Unfit as unfit:
                needed = self._whole(unfit.value)
                if needed is value:
                    needed = unfit.value
                if needed is value:
                    raise Declined(f"a {type(value).__name__.lower()} of this form") from unfit
                buffer = Buffer(f"stored_{len(self._scratch)}", needed.shape, needed.dtype)
                self._scratch.append(buffer)
                self._store(needed, buffer)
        self.kernels.append(kernel)
        self._keep.append(value)
        self._stored[id(value)] = target

    def _unstored(self, value: Value) -> bool:
        return id(value) not in self._stored and not isinstance(value, Buffer | Literal)

    def _emit(self, value: Value, target: Buffer) -> Kernel:
        comment = f"{target.name}: {value.dtype} [{', '.join(e.code for e in value.shape)}]"
        if isinstance(value, Attention):
            return Kernel("attention", comment, emit_attention(value, target, self._stored))
        if isinstance(value, Apart):
            return Kernel("nest", comment, emit_apart(value, target, self._plan, self._stored))
        contract = self._contract_under(value)
        if contract is None:
            lines = emit_nest(value, target, self._plan, self._stored, self._shared)
            return Kernel("nest", comment, lines)
        try:
            lines = emit_contraction(contract, value, target, self._plan, self._stored)
        except Unfit as unfit:
            # A fold of the contraction's own sums has to wait for all of them.
            raise Unfit(contract) if _reaches(unfit.value, contract) else unfit from unfit
        return Kernel("contraction", comment, lines)

    def _contract_under(self, value: Value) -> Contract | None:
        """The one contraction whose sums `value` is a function of, element by element."""
        if isinstance(value, Contract):
            return value
        if not isinstance(value, Map):
            return None
        found: Contract | None = None
        for source in value.inputs:
            if id(source) in self._stored or source.shape != value.shape:
                continue
            inner = self._contract_under(source) if isinstance(source, Contract | Map) else None
            if inner is not None and found is not None and inner is not found:
                raise Unfit(inner)
            found = inner or found
        return found

    def _whole(self, value: Value) -> Value:
        """With a contraction, store what becomes of each of its sums, not the sums."""
        if not isinstance(value, Contract):
            return value
        while True:
            users = self._users.get(id(value), [])
            if len(users) != 1 or not isinstance(users[0], Map) or users[0].shape != value.shape:
                return value
            if not self._plan.fuse:
                return value
            value = users[0]

    def _source(self) -> str:
        symbols = list(self.graph.symbols)
        templates = [f"long fixed_{s}" for s in symbols]
        standard = [f"#include <{name}>" for name in _STANDARD]
        lines = ['#include "vector_math.hpp"', "", *standard, "", '#include "support.hpp"']
        lines += [f'#include "{kind}.hpp"' for kind in sorted(self.kinds - {"nest"})]
        lines += [
            "",
            "using km::floordiv, km::larger, km::modulo, km::smaller;",
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
        if any(re.search(rf"\b{EDGE}\b", line) for kernel in self.kernels for line in kernel.lines):
            lines.append(f"  const long {EDGE} = km::hidden_zero();")
        for buffer in self._scratch:
            ctype, count = CTYPES[buffer.dtype], product(buffer.shape).code
            lines.append(f"  const km::Memory<{ctype}> memory_{buffer.name}({count});")
            lines.append(f"  {ctype}* __restrict {buffer.name} = memory_{buffer.name};")
        for kernel in self.kernels:
            lines += ["", f"  // {kernel.comment}", "  {"]
            body = self._directed(kernel.lines)
            lines += [line if line.startswith("#") else f"    {line}" for line in body]
            lines.append("  }")
        lines += ["}", "", "}  // namespace", "", *self._entry(), ""]
        return "\n".join(lines)

    def _directed(self, lines: list[str]) -> list[str]:
        """Without a demand for vectors where the plan leaves that to the compiler."""
        demanded = any(_VECTORS.match(line) for line in lines)
        if not demanded or self._plan.vectorise:
            return lines
        kept = [line for line in lines if not _VECTORS_ALONE.match(line)]
        return [_VECTORS.sub(r"\1", line) for line in kept]

    def _parameters(self) -> list[str]:
        parameters = [
            f"const {CTYPES[source.kind.dtype]}* __restrict in_{source.name}"
            for source in self.graph.sources
            if source.origin != "constant"
        ]
        parameters += [f"{CTYPES[b.dtype]}* __restrict {b.name}" for b in self.outputs]
        return parameters + [f"long size_{s}" for s in self.graph.symbols]

    def _entry(self) -> list[str]:
        names = [parameter.split()[-1] for parameter in self._parameters()]
        symbols = self.graph.symbols
        lines = [f'extern "C" void forward({", ".join(self._parameters())}) {{']
        call = f"({', '.join(names)});"
        if symbols and self._plan.specialise:
            shown = " && ".join(f"size_{s} == {place[2]}" for s, place in symbols.items())
            values = ", ".join(str(place[2]) for place in symbols.values())
            lines += [f"  if ({shown}) return run<{values}>{call}"]
        lines.append(
            f"  run<{', '.join(['-1'] * len(symbols))}>{call}" if symbols else f"  run{call}"
        )
        return [*lines, "}"]


def _users(roots: list[Value]) -> dict[int, list[Value]]:
    found: dict[int, list[Value]] = {}
    seen: set[int] = set()
    waiting = list(roots)
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for source in value.inputs:
            found.setdefault(id(source), []).append(value)
            waiting.append(source)
    return found


def _reaches(value: Value, wanted: Value) -> bool:
    waiting, seen = [value], set()
    while waiting:
        here = waiting.pop()
        if here is wanted:
            return True
        if id(here) not in seen:
            seen.add(id(here))
            waiting += here.inputs
    return False
