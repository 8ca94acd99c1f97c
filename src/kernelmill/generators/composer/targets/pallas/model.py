"""model.py of a composed candidate: its kernels, and the host that calls them."""

from collections.abc import Sequence

from kernelmill.generators.base import Declined
from kernelmill.generators.composer.host.forward import measured
from kernelmill.generators.composer.host.functions import RuntimeFunctions
from kernelmill.generators.composer.host.guards import Framework, Guards, refuse_lines
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Graph, Source
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pallas.blocks import Blocks
from kernelmill.generators.composer.targets.pallas.kernel import as_tuple, write_kernel
from kernelmill.generators.composer.targets.pallas.lowering.registry import DTYPES, number
from kernelmill.generators.composer.targets.pallas.tensors import (
    Broadcast,
    Cut,
    Flip,
    Number,
    Permute,
    Phased,
    Reshape,
    Stored,
    Tensor,
)
from kernelmill.records.task import Task
from kernelmill.syntax import names_in

_RUNTIME = RuntimeFunctions("kernelmill.generators.composer.targets.pallas")
_IMPORTS = {
    "functools": "import functools",
    "math": "import math",
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "lax": "from jax import lax",
    "pl": "from jax.experimental import pallas as pl",
    "pltpu": "from jax.experimental.pallas import tpu as pltpu",
}


def _other_type(array: str, dtype: str) -> str:
    return f"{array}.dtype != {DTYPES[dtype]}"


_JAX = Framework(_other_type, "{0}.ndim", host)


class Model:
    """The file, written from kernels in their order."""

    def __init__(
        self,
        graph: Graph,
        task: Task,
        kernels: Sequence[Blocks],
        outputs: Sequence[Tensor],
        plan: Plan,
    ) -> None:
        self._graph, self._task, self._kernels = graph, task, kernels
        self._outputs, self._plan = outputs, plan
        self._names: dict[int, str] = {}
        """What the host calls a tensor: with two axes at least, as kernels see it."""
        self._lines: list[str] = []
        self._sources = {source.name: source for source in graph.sources}

    def text(self) -> str:
        definitions = []
        for index, blocks in enumerate(self._kernels):
            names = [f"y_{index}_{at}" for at in range(len(blocks.outputs))]
            kernel = write_kernel(index, blocks, self._plan, names)
            definitions.append("\n".join(kernel.definition))
            read = [self._matrix(tensor) for tensor in blocks.inputs]
            *lines, last = kernel.call
            self._lines += [*lines, last.format(*read)]
            for name, tensor in zip(names, blocks.outputs, strict=True):
                self._names[id(tensor)] = name
        model = "\n".join(self._model())
        body = "\n\n\n".join([*definitions, "\n".join(refuse_lines()), model])
        functions = _RUNTIME.needed(names_in(body))
        whole = "\n\n\n".join([*functions, body])
        used = names_in(whole)
        imports = [line for name, line in _IMPORTS.items() if name in used]
        return "\n\n\n".join(["\n".join(imports), whole]) + "\n"

    def _model(self) -> list[str]:
        count = len(self._task.shown.inputs.items or ())
        returned = [f"y{at} = {self._returned(output)}" for at, output in enumerate(self._outputs)]
        lines = [*self._given(), *self._lines, *returned, f"return {self._graph.returned}"]
        parameters = ", ".join(["self", "state", *(f"x{i}" for i in range(count))])
        return [
            "class ModelNew:",
            "    def __init__(self, *arguments):",
            "        pass",
            "",
            f"    def forward({parameters}):",
            *(f"        {line}" for line in lines),
        ]

    def _given(self) -> list[str]:
        """The sizes at hand, and whether they and what has them are what kernels are made for."""
        inputs = [s for s in self._graph.sources if s.origin == "input"]
        state = [s for s in self._graph.sources if s.origin == "state"]
        guards = Guards(self._graph, {s.name: self._stored(s) for s in (*inputs, *state)}, _JAX)
        names = {source.key: f"x{source.key}" for source in inputs}
        return [
            *guards.values(),
            *guards.kinds(inputs),
            *(f"{name} = {measured(s, names)}" for name, s in self._graph.symbols.items()),
            *guards.shapes(inputs),
            *guards.conditions(),
            *guards.state(state),
        ]

    def _returned(self, output: Tensor) -> str:
        if isinstance(output, Number):
            raise Declined("a result that is a constant")
        sizes = as_tuple([host(extent.code) for extent in output.shape])
        name = self._matrix(output)
        return name if len(output.shape) > 1 else f"{name}.reshape({sizes})"

    def _matrix(self, tensor: Tensor) -> str:
        """A tensor in memory, by the name of what the host has or makes of it."""
        if id(tensor) in self._names:
            return self._names[id(tensor)]
        code = self._view(tensor)
        name = f"h_{len(self._names)}"
        self._lines.append(f"{name} = {code}")
        self._names[id(tensor)] = name
        return name

    def _view(self, tensor: Tensor) -> str:
        sizes = [host(extent.code) for extent in tensor.shape]
        shape = as_tuple(["1"] * (2 - len(sizes)) + sizes)
        if isinstance(tensor, Stored):
            code = self._stored(self._sources[tensor.name])
            return code if len(sizes) > 1 else f"{code}.reshape({shape})"
        source = self._matrix(tensor.inputs[0])
        if isinstance(tensor, Reshape):
            return f"{source}.reshape({shape})"
        if isinstance(tensor, Permute):
            return f"jnp.transpose({source}, {tensor.order})"
        if isinstance(tensor, Broadcast):
            return f"jnp.broadcast_to({source}, {shape})"
        if isinstance(tensor, Cut):
            size = host(tensor.shape[tensor.axis].code)
            axis = tensor.axis + max(0, 2 - len(sizes))
            return (
                f"lax.slice_in_dim({source}, {tensor.start}, {tensor.start} + {size}, axis={axis})"
            )
        if isinstance(tensor, Flip):
            return f"jnp.flip({source}, {tensor.axis + max(0, 2 - len(sizes))})"
        if isinstance(tensor, Phased):
            sizes = [host(extent.code) for extent in tensor.shape[3:]]
            return f"phased({source}, {as_tuple(sizes)}, {[tuple(s) for s in tensor.slides]})"
        raise Declined(f"a {type(tensor).__name__.lower()} outside of kernels")

    def _stored(self, source: Source) -> str:
        if source.origin == "input":
            return f"x{source.key}"
        if source.origin == "state":
            return f"state[{source.key!r}]"
        values = ", ".join(number(value) for value in source.values)
        shape = tuple(extent.value for extent in source.kind.shape)
        return f"jnp.array([{values}], {DTYPES[source.kind.dtype]}).reshape({shape})"
