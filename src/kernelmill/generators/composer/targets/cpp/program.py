"""A candidate in C++: kernels in one function, and the module that calls it."""

from importlib.resources import files

from kernelmill.generators.composer.ir.values import Attention, Buffer, Contract, Value
from kernelmill.generators.composer.loops.attention import emit_attention
from kernelmill.generators.composer.loops.headers import headers
from kernelmill.generators.composer.loops.program import SHARED_HEADERS, LoopProgram
from kernelmill.generators.composer.loops.statements import Statement, Statements
from kernelmill.generators.composer.targets.cpp.attention import blocks_of
from kernelmill.generators.composer.targets.cpp.contraction import emit_contraction
from kernelmill.generators.composer.targets.cpp.loops import OpenMpLoops
from kernelmill.generators.composer.targets.cpp.model import emit_model
from kernelmill.records.task import Task

_HEADERS = files("kernelmill.generators.composer.targets.cpp") / "runtime"
_STANDARD = ("algorithm", "cmath", "cstdint", "limits", "omp.h", "utility")


class CppProgram(LoopProgram):
    """A candidate in C++ for the cores of a CPU."""

    def files(self, task: Task) -> dict[str, str]:
        runtime = headers(self._headers(), [_HEADERS, SHARED_HEADERS])
        model = emit_model(self.graph, task, [(b.shape, b.dtype) for b in self.outputs])
        return {"model.py": model, "kernel.cpp": self._source(task), **runtime}

    def _contraction(self, contract: Contract, value: Value, target: Buffer) -> list[Statement]:
        return emit_contraction(contract, value, target, self._plan, self._stored)

    def _attention(self, value: Attention, target: Buffer) -> list[Statement]:
        return emit_attention(value, target, self._stored, blocks_of(value))

    def _printed(self, statements: Statements) -> list[str]:
        return OpenMpLoops(vectors=bool(self._plan.vectorise)).lines(statements)

    def _includes(self) -> list[str]:
        first, *others = (f'#include "{name}"' for name in self._headers())
        return [first, "", *(f"#include <{name}>" for name in _STANDARD), "", *others]

    def _entry(self, task: Task) -> list[str]:
        head = f'extern "C" void forward({", ".join(self._parameters())}) {{'
        return [head, *(f"  {line}" for line in self._calls()), "}"]
