"""A candidate in Triton: a kernel for every value that is stored."""

from kernelmill.generators.composer.decisions import Plan
from kernelmill.generators.composer.emit.scope import Unfit
from kernelmill.generators.composer.emit.triton.launch import Launch
from kernelmill.generators.composer.emit.triton.model import Model
from kernelmill.generators.composer.emit.triton.rows import emit_nest
from kernelmill.generators.composer.graph import Graph
from kernelmill.generators.composer.storing import Storing, reaches
from kernelmill.generators.composer.values import Apart, Attention, Buffer, Value
from kernelmill.generators.base import Declined
from kernelmill.tasks.task import Task


class TritonProgram(Storing):
    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.launches: list[Launch] = []
        super().__init__(graph, plan)

    def files(self, task: Task) -> dict[str, str]:
        model = Model(
            self.graph, task, self.launches, self.outputs, self._scratch, self._numbers,
            bool(self._plan.specialise),
        )  # fmt: skip
        return {"model.py": model.text()}

    def _emit(self, value: Value, target: Buffer) -> None:
        if isinstance(value, Attention | Apart):
            raise Declined(f"a {type(value).__name__.lower()} in Triton")
        contract = self._contract_under(value)
        if contract is not None:
            raise Declined("contract")
        self.launches.append(emit_nest(value, target, self._plan, self._stored))
