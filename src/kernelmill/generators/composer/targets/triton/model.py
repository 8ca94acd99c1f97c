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
from kernelmill.records.task import Task
from kernelmill.syntax import names_in, parse_expression

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
        self._outputs, self._scratch = outputs, scratch
        self._numbers = {name: host(code) for code, name in numbers.items()}
        self._specialise = specialise
        self._used_names = [names_in("\n".join(launch.lines)) for launch in launches]
        """By the kernel of every launch."""
        self._used = [source for source in graph.sources if source.origin != "constant"]
        self._constants = [s for s in graph.sources if s.origin == "constant" and len(s.values) > 1]

    def text(self) -> str:
        kernels = [self._kernel(number, one) for number, one in enumerate(self._launches)]
        more = self._constant_lines()
        construction = construct(self._graph, self._task, more, (*_RESERVED, *_RUNTIME.names))
        model = self._model(construction)
        parts = [*kernels, *([own] if (own := construction.module) else []), refuse_lines(), model]
        body = "\n\n\n".join("\n".join(lines) for lines in parts)
        functions = _RUNTIME.needed(frozenset().union(*self._used_names))
        imports = ["import torch", "import torch.nn as nn", "import triton"]
        imports.append("import triton.language as tl")
        if "math." in "\n".join(model):
            imports.insert(0, "import math\n")
        return "\n\n\n".join(["\n".join(imports), *functions, body]) + "\n"

    def _kernel(self, number: int, launch: Launch) -> list[str]:
        used = self._used_names[number]
        kind = ": tl.constexpr" if self._specialise else ""
        parameters = [*launch.memory, *self._numbers_in(used)]
        parameters += [f"{symbol}{kind}" for symbol in self._symbols_in(used)]
        parameters += [f"{name}: tl.constexpr" for name in ("INDEX", *launch.constants)]
        written = ", ".join(parameters)
        return [
            "@triton.jit",
            f"def kernel_{number}({written}):",
            *(f"    {line}" for line in launch.lines),
        ]

    def _numbers_in(self, names: set[str]) -> list[str]:
        return [name for name in self._numbers if name in names]

    def _symbols_in(self, names: set[str]) -> list[str]:
        return [symbol for symbol in self._graph.symbols if symbol in names]

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
        names = tensor_names(self._used)
        guards = Guards(self._graph, names, _TORCH)
        lines = given_lines(self._graph, self._used, names, guards, construction)
        lines += [f"{name} = {code}" for name, code in self._numbers.items()]
        tensors = {f"in_{source.name}": names[source.name] for source in self._used}
        tensors |= {f"in_{s.name}": f"self._buffers['constant_{s.name}']" for s in self._constants}
        lines.append(f"device = {next(iter(tensors.values()), 'torch.empty(0)')}.device")
        lines += [f"{one.name} = {_empty(one)}" for one in (*self._outputs, *self._scratch)]
        lines += self._index_lines()
        for number, launch in enumerate(self._launches):
            lines += self._launch(number, launch, tensors)
        lines.append(f"return {self._returned()}")
        return [forward_head(self._task), *(f"    {line}" for line in lines)]

    def _returned(self) -> str:
        """What forward returns, over the names of the outputs."""
        names = {f"y{number}": one.name for number, one in enumerate(self._outputs)}
        tree = parse_expression(self._graph.returned)
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = names.get(node.id, node.id)
        return ast.unparse(tree)

    def _index_lines(self) -> list[str]:
        """How wide an index must be."""
        memory = {b.name: b for launch in self._launches for b in launch.memory.values()}
        counts = {product(buffer.shape) for buffer in memory.values()}
        if any(count.fixed and count.value >= _WIDE for count in counts):
            return ["index = tl.int64"]
        codes = sorted({host(count.code) for count in counts if not count.fixed})
        if not codes:
            return ["index = tl.int32"]
        largest = codes[0] if len(codes) == 1 else f"max({', '.join(codes)})"
        return [f"index = tl.int64 if {largest} >= {_WIDE} else tl.int32"]

    def _launch(self, number: int, launch: Launch, tensors: dict[str, str]) -> list[str]:
        used = self._used_names[number]
        arguments = [tensors.get(name, name) for name in launch.memory]
        arguments += [*self._numbers_in(used), *self._symbols_in(used), "index"]
        arguments += [f"{name}={code}" for name, code in launch.constants.items()]
        arguments.append(f"num_warps={launch.warps}")
        if launch.stages:
            arguments.append(f"num_stages={launch.stages}")
        grid = ", ".join(launch.grid) + ("," if len(launch.grid) == 1 else "")
        return [f"kernel_{number}[({grid})](", *(f"    {one}," for one in arguments), ")"]


def _empty(buffer: Buffer) -> str:
    sizes = ", ".join(host(extent.code) for extent in buffer.shape)
    sizes += "," if len(buffer.shape) == 1 else ""
    return f"torch.empty(({sizes}), dtype=torch.{buffer.dtype}, device=device)"


def _plain(value: float | Real) -> str:
    if isinstance(value, Real):
        return value.code.replace("km::inf", 'float("inf")').replace("km::nan", 'float("nan")')
    return repr(value)
