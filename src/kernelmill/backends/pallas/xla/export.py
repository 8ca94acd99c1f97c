"""Export of a task's reference to a graph of core ATen operators. Runs inside a sandbox."""

import logging
import math
import operator
import warnings
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch.export import ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument

from kernelmill.backends.pallas.xla.graph import (
    AtenGraph,
    AtenNode,
    DataType,
    NodeReference,
    NonFiniteFloat,
)
from kernelmill.records import tensors as records
from kernelmill.sandbox.channel import Channel, ChannelMessage
from kernelmill.sandbox.serving import Server
from kernelmill.tasks.module import TaskModule
from kernelmill.tensors.torch_side import TensorView, dtype_name, write

_SEED = 1
_IGNORED = ("_assert_async.msg", "_assert_tensor_metadata.default")


class Inexpressible(Exception):
    """The reference has an argument that the graph cannot represent."""


def export_reference(channel: Channel, arguments: dict[str, Any], scratch: str) -> None:
    """Entry: answers with the graph for the shapes of a call; its constants in a file."""
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    request = channel.receive().body
    module = TaskModule(request["source"], request["scale"])
    server = Server(channel, Path(scratch))
    channel.send({})
    server.add_command("export", _Exporter(module.model(_SEED)).export)
    server.serve()


class _Exporter:
    def __init__(self, model: torch.nn.Module) -> None:
        self._model = model

    def export(self, message: ChannelMessage) -> tuple[dict[str, Any], tuple[int, ...]]:
        given = msgspec.convert(message.body["layout"], records.Layout)
        inputs = msgspec.convert(message.body["inputs"], records.Node)
        view = TensorView(message.files[0], given, range(len(given.tensors)))
        program = export(self._model, tuple(inputs.restore(view.tensors)), strict=False)
        reader = _GraphReader(program.run_decompositions(), message.body["state"])
        graph = reader.read(len(given.tensors))
        written = write(reader.constants)
        body = {
            "graph": msgspec.to_builtins(graph),
            "layout": msgspec.to_builtins(written.layout),
        }
        return body, (written.file,)


class _GraphReader:
    def __init__(self, program: ExportedProgram, state: dict[str, int]) -> None:
        self._program = program
        self._state = state
        self.constants: list[torch.Tensor] = []

    def read(self, count: int) -> AtenGraph:
        tensors, constants = self._sources(count)
        calls = [node for node in self._program.graph.nodes if node.op == "call_function"]
        nodes = [node for node in map(self._node, calls) if node.op not in _IGNORED]
        outputs = [
            spec.arg.name
            for spec in self._program.graph_signature.output_specs
            if spec.kind is OutputKind.USER_OUTPUT and isinstance(spec.arg, TensorArgument)
        ]
        return AtenGraph(tensors, constants, nodes, outputs)

    def _sources(self, count: int) -> tuple[list[str], list[str]]:
        tensors, constants = [""] * count, []
        position = 0
        for spec in self._program.graph_signature.input_specs:
            if not isinstance(spec.arg, TensorArgument):
                continue
            if spec.kind is InputKind.USER_INPUT:
                tensors[position] = spec.arg.name
                position += 1
            elif spec.target in self._state:
                tensors[self._state[spec.target]] = spec.arg.name
            else:
                assert spec.target is not None
                constants.append(spec.arg.name)
                self.constants.append(self._program.constants[spec.target])
        return tensors, constants

    def _node(self, node: torch.fx.Node) -> AtenNode:
        if node.target is operator.getitem:
            op = "getitem"
        else:
            op = str(node.target).removeprefix("aten.")
        return AtenNode(
            node.name,
            op,
            [_argument(value) for value in node.args],
            {name: _argument(value) for name, value in node.kwargs.items()},
        )


def _argument(value: Any) -> Any:
    if isinstance(value, torch.fx.Node):
        return NodeReference(value.name)
    if isinstance(value, list | tuple):
        return [_argument(item) for item in value]
    if isinstance(value, torch.dtype):
        return DataType(dtype_name(value))
    if isinstance(value, float) and not math.isfinite(value):
        return NonFiniteFloat(str(value))
    if isinstance(value, torch.device | torch.layout | torch.memory_format):
        return None
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise Inexpressible(f"an argument of type {type(value).__name__}: {value!r}")
