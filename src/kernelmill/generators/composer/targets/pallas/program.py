"""A candidate in Pallas: tensors, grouped into kernels, cut into blocks."""

from kernelmill.generators.composer.host.construction import demand_state
from kernelmill.generators.composer.ir.graph import Graph
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pallas.grouping import Grouping
from kernelmill.generators.composer.targets.pallas.lowering import Lowering
from kernelmill.generators.composer.targets.pallas.model import Model
from kernelmill.generators.composer.targets.pallas.turning import as_kept
from kernelmill.records.task import Task


class PallasProgram:
    def __init__(self, graph: Graph, plan: Plan) -> None:
        self._graph, self._plan = graph, plan
        self._outputs = as_kept(Lowering(graph, plan).run(), plan)
        self._kernels = Grouping(self._outputs, plan).run()

    def files(self, task: Task) -> dict[str, str]:
        demand_state(self._graph, task)
        model = Model(self._graph, task, self._kernels, self._outputs, self._plan)
        return {"model.py": model.text()}
