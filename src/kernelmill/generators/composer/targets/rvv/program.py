"""A whole candidate for RISC-V vectors: one file, with its run time in it."""

from importlib.resources import files

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.construction import demand_state
from kernelmill.generators.composer.ir.graph import Graph, Symbol
from kernelmill.generators.composer.ir.values import Attention, Buffer, Contract, Value
from kernelmill.generators.composer.loops.attention import emit_attention
from kernelmill.generators.composer.loops.cpp import CTYPES
from kernelmill.generators.composer.loops.headers import as_one, headers
from kernelmill.generators.composer.loops.program import SHARED_HEADERS, LoopProgram
from kernelmill.generators.composer.loops.statements import Statement, Statements, operators
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.rvv.contraction import emit_contraction, tile_code
from kernelmill.generators.composer.targets.rvv.decisions import OneThread
from kernelmill.generators.composer.targets.rvv.loops import VectorLoops
from kernelmill.records.task import Task
from kernelmill.records.tensors import HALF_TYPES

_HEADERS = files("kernelmill.generators.composer.targets.rvv") / "runtime"
_STANDARD = ("algorithm", "cmath", "cstdint", "limits", "utility")


class RvvProgram(LoopProgram):
    """A candidate in C++ for one RISC-V core with vectors."""

    def __init__(self, graph: Graph, plan: Plan) -> None:
        for source in graph.sources:
            if source.kind.dtype in HALF_TYPES:
                raise Declined(f"tensors of type {source.kind.dtype}")
        super().__init__(graph, OneThread(plan))

    def files(self, task: Task) -> dict[str, str]:
        demand_state(self.graph, task)
        return {"kernel.cpp": self._source(task)}

    def _contraction(self, contract: Contract, value: Value, target: Buffer) -> list[Statement]:
        return emit_contraction(contract, value, target, self._plan, self._stored)

    def _attention(self, value: Attention, target: Buffer) -> list[Statement]:
        query, key = value.inputs[:2]
        tile = tile_code(query.shape[2], key.shape[2], self._plan)
        return emit_attention(value, target, self._stored, tile)

    def _printed(self, statements: Statements) -> list[str]:
        return VectorLoops(self._plan).lines(statements)

    def _headers(self) -> list[str]:
        return [*super()._headers(), "loops.hpp", "order.hpp"]

    def _includes(self) -> list[str]:
        texts = headers(self._headers(), [_HEADERS, SHARED_HEADERS]).values()
        standard = [f"#include <{name}>" for name in _STANDARD]
        apart = self._has_polynomials() and self._plan.polynomials == "apart"
        defined = ["#define KM_APART"] if apart else []
        return ['#include "kernelmill.h"', "", *standard, "", *defined, as_one(texts)]

    def _has_polynomials(self) -> bool:
        used = {operator for kernel in self.kernels for operator in operators(kernel.lines)}
        return "attention" in self.kinds or any(one.value.polynomial for one in used)

    def _entry(self, task: Task) -> list[str]:
        """The entry: addresses and sizes are taken out of the tensors."""
        head = "model_new(const Tensor* inputs, const Tensor* state, Tensor* outputs)"
        lines = [*self._addresses(task), *self._sizes(), *self._calls()]
        return [f'extern "C" void {head} {{', *(f"  {line}" for line in lines), "}"]

    def _addresses(self, task: Task) -> list[str]:
        state = list(task.state)
        places = {key: f"inputs[{number}]" for key, number in self._inputs().items()}
        lines = []
        for source in self.graph.sources:
            if source.origin == "constant":
                continue
            ctype = CTYPES[source.kind.dtype]
            own = source.origin == "input"
            place = places[source.key] if own else f"state[{state.index(source.key)}]"
            lines.append(
                f"const auto in_{source.name} = static_cast<const {ctype}*>({place}.data);"
            )
        for number, buffer in enumerate(self.outputs):
            ctype = CTYPES[buffer.dtype]
            lines.append(
                f"const auto {buffer.name} = static_cast<{ctype}*>(outputs[{number}].data);"
            )
        return lines

    def _inputs(self) -> dict[str, int]:
        """Which tensor of forward's arguments stands where in them."""
        keys = [source.key for source in self.graph.sources if source.origin == "input"]
        return {key: number for number, key in enumerate(keys)}

    def _sizes(self) -> list[str]:
        return [
            f"const long size_{name} = {self._size(s)};" for name, s in self.graph.symbols.items()
        ]

    def _size(self, symbol: Symbol) -> str:
        size = f"inputs[{self._inputs()[symbol.input]}].sizes[{symbol.axis}]"
        return size if symbol.factor == 1 else f"{size} / {symbol.factor}"
