"""model.py of a composed candidate: its kernels, the state by its names, and their launches."""

import ast
from collections.abc import Sequence

from kernelmill.generators.composer.host.construction import Construction, construct
from kernelmill.generators.composer.host.forward import forward_head, given_lines, tensor_names
from kernelmill.generators.composer.host.functions import RuntimeFunctions
from kernelmill.generators.composer.host.guards import (
    Framework,
    Guards,
    other_torch_type,
    refuse_lines,
)
from kernelmill.generators.composer.host.language import host
from kernelmill.generators.composer.ir.graph import Graph, Real
from kernelmill.generators.composer.ir.index import product
from kernelmill.generators.composer.ir.values import Buffer
from kernelmill.generators.composer.targets.triton.launch import Launch
from kernelmill.generators.composer.targets.triton.naming import SizeNames
from kernelmill.generators.composer.targets.triton.rerolling import reroll
from kernelmill.generators.composer.targets.triton.reuse import reuse
from kernelmill.generators.composer.targets.triton.sharing import Kernel, share
from kernelmill.generators.composer.targets.triton.steps import step_lines
from kernelmill.generators.composer.targets.triton.templates import HostNames
from kernelmill.records.task import Task
from kernelmill.syntax import parse_expression

_RUNTIME = RuntimeFunctions("kernelmill.generators.composer.targets.triton", "@triton.jit\n")
_WIDE = 1 << 31
"""From this many elements on an index needs 64 bits."""
_TORCH = Framework(other_torch_type, "{0}.dim()", host)
_RESERVED = ("math", "torch", "nn", "triton", "tl", "refuse")


class Model:
    """The file, written from launches in their order."""

    def __init__(
        self,
        graph: Graph,
        task: Task,
        launches: Sequence[Launch],
        outputs: Sequence[Buffer],
        scratch: Sequence[Buffer],
        numbers: dict[str, str],
        specialise: bool,
    ) -> None:
        self._graph, self._task = graph, task
        self._launches = launches
        self._outputs = outputs
        self._scratch, self._elsewhere = reuse(launches, scratch)
        self._numbers = {name: host(code) for code, name in numbers.items()}
        self._used = [source for source in graph.sources if source.origin != "constant"]
        self._constants = [s for s in graph.sources if s.origin == "constant" and len(s.values) > 1]
        self._names = tensor_names(self._used)
        self._shared = share(launches, self._host_names(), self._tensors(), specialise)

    def text(self) -> str:
        kernels = [_definition(kernel) for kernel in self._shared.kernels]
        more = self._constant_lines()
        construction = construct(self._graph, self._task, more, (*_RESERVED, *_RUNTIME.names))
        model = self._model(construction)
        parts = [*kernels, *([own] if (own := construction.module) else []), refuse_lines(), model]
        body = "\n\n\n".join("\n".join(lines) for lines in parts)
        used = frozenset().union(*(kernel.names for kernel in self._shared.kernels))
        functions = _RUNTIME.needed(used)
        imports = ["import torch", "import torch.nn as nn", "import triton"]
        imports.append("import triton.language as tl")
        if "math." in "\n".join(model):
            imports.insert(0, "import math\n")
        return "\n\n\n".join(["\n".join(imports), *functions, body]) + "\n"

    def _host_names(self) -> HostNames:
        memory = {name for launch in self._launches for name in launch.memory}
        return HostNames(memory, self._numbers.keys(), self._graph.symbols.keys())

    def _tensors(self) -> dict[str, str]:
        """Names of memory on the host, where kernels know it by others."""
        return self._given() | self._elsewhere

    def _given(self) -> dict[str, str]:
        """The same of inputs, parameters and constants."""
        tensors = {f"in_{source.name}": self._names[source.name] for source in self._used}
        return tensors | {
            f"in_{s.name}": f"self._buffers['constant_{s.name}']" for s in self._constants
        }

    def _model(self, construction: Construction) -> list[str]:
        body = [*construction.body, *([""] if construction.body else [])]
        body += self._forward(construction)
        return ["class ModelNew(nn.Module):", *(f"    {line}" if line else "" for line in body)]

    def _constant_lines(self) -> list[str]:
        lines = []
        for source in self._constants:
            values = ", ".join(_plain(value) for value in source.values)
            shape = tuple(extent.value for extent in source.kind.shape)
            tensor = f"torch.tensor([{values}], dtype=torch.{source.kind.dtype}).view({shape})"
            name = f"constant_{source.name}"
            lines.append(f"self.register_buffer({name!r}, {tensor}, persistent=False)")
        return lines

    def _forward(self, construction: Construction) -> list[str]:
        guards = Guards(self._graph, self._names, _TORCH)
        lines = given_lines(self._graph, self._used, self._names, guards, construction)
        lines += [f"{name} = {code}" for name, code in self._numbers.items()]
        lines.append(f"device = {next(iter(self._given().values()), 'torch.empty(0)')}.device")
        lines += self._work_lines()
        lines.append(f"return {self._returned()}")
        return [forward_head(self._task), *(f"    {line}" for line in lines)]

    def _work_lines(self) -> list[str]:
        """Memory, and launches."""
        allocated = (*self._outputs, *self._scratch)
        calls = self._shared.calls
        texts = [host(extent.code) for one in allocated for extent in one.shape]
        texts += [text for call in calls for text in call.fields]
        sizes = SizeNames(texts, self._graph.symbols.keys())
        named = [call.with_fields(map(sizes.written, call.fields)) for call in calls]
        return [
            *sizes.lines(),
            *(f"{one.name} = {_empty(one, sizes)}" for one in allocated),
            *self._index_lines(sizes),
            *(line for step in reroll(named) for line in step_lines(step)),
        ]

    def _returned(self) -> str:
        """What forward returns, over the names of the outputs."""
        names = {f"y{number}": one.name for number, one in enumerate(self._outputs)}
        tree = parse_expression(self._graph.returned)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
        return ast.unparse(tree)

    def _index_lines(self, sizes: SizeNames) -> list[str]:
        """How wide an index must be."""
        memory = {b.name: b for launch in self._launches for b in launch.memory.values()}
        counts = {product(buffer.shape) for buffer in memory.values()}
        if any(count.fixed and count.value >= _WIDE for count in counts):
            return ["index = tl.int64"]
        codes = sorted({host(count.code) for count in counts if not count.fixed})
        if not codes:
            return ["index = tl.int32"]
        written = [sizes.written(code) for code in codes]
        largest = written[0] if len(codes) == 1 else f"max({', '.join(written)})"
        return [f"index = tl.int64 if {largest} >= {_WIDE} else tl.int32"]


def _definition(kernel: Kernel) -> list[str]:
    written = (
        f"{one.name}: tl.constexpr" if one.compiled else one.name for one in kernel.parameters
    )
    head = f"def {kernel.name}({', '.join(written)}):"
    return ["@triton.jit", head, *(f"    {line}" for line in kernel.lines)]


def _empty(buffer: Buffer, sizes: SizeNames) -> str:
    shape = ", ".join(sizes.written(host(extent.code)) for extent in buffer.shape)
    shape += "," if len(buffer.shape) == 1 else ""
    return f"torch.empty(({shape}), dtype=torch.{buffer.dtype}, device=device)"


def _plain(value: float | Real) -> str:
    if isinstance(value, Real):
        return value.code.replace("km::inf", 'float("inf")').replace("km::nan", 'float("nan")')
    return repr(value)
