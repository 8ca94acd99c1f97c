"""From a task file to a Graph, through torch.export. Runs inside cells only."""

import logging
import math
import operator
import warnings
from typing import Any

import msgspec
import sympy
import torch
from torch.export import Dim, ExportedProgram, export
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.experimental import _config
from torch.utils._sympy.printers import PythonPrinter

from kernelmill.generators.composer.graph import (
    Argument,
    Extent,
    Graph,
    Kind,
    Node,
    Real,
    Reference,
    Size,
    Source,
)
from kernelmill.sandbox.channel import Channel
from kernelmill.tasks.describe import explain
from kernelmill.tasks.module import TaskModule

_SEED = 1
_MOST_CONSTANT = 4096


class Untraceable(Exception):
    """The reference does something a graph cannot say."""


def trace_in_cell(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry of a cell that traces one task."""
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    request = channel.receive().body
    try:
        graph = trace(TaskModule(request["source"], request["scale"]))
        channel.send({"graph": msgspec.to_builtins(graph)})
    except Exception as error:  # the task's code, and torch.export's own refusals
        channel.send({"error": explain(error)})


def trace(module: TaskModule) -> Graph:
    draw = module.draw({}, "plain", _SEED)
    with _config.patch(use_duck_shape=False):
        program = export(
            draw.model,
            tuple(draw.inputs),
            dynamic_shapes=tuple(_dynamic(value) for value in draw.inputs),
            strict=False,
        ).run_decompositions()
    return _Reader(program).read()


def _dynamic(value: Any) -> Any:
    """Every size may vary, unless the reference says otherwise."""
    if isinstance(value, torch.Tensor):
        return dict.fromkeys(range(value.dim()), Dim.AUTO)
    if isinstance(value, list | tuple):
        return type(value)(_dynamic(item) for item in value)
    return None


class _SizePrinter(PythonPrinter):  # type: ignore[misc]
    """Sizes in words that C++ and Python share."""

    def _print_FloorDiv(self, expr: Any) -> str:  # noqa: N802
        return f"floordiv({self._print(expr.args[0])}, {self._print(expr.args[1])})"

    _print_CleanDiv = _print_FloorDiv  # noqa: N815
    _print_IntTrueDiv = _print_FloorDiv  # noqa: N815

    def _print_Max(self, expr: Any) -> str:  # noqa: N802
        first, *rest = (self._print(argument) for argument in expr.args)
        for item in rest:
            first = f"larger({first}, {item})"
        return first

    def _print_ToFloat(self, expr: Any) -> str:  # noqa: N802
        return f"double({self._print(expr.args[0])})"

    def _print_FloatPow(self, expr: Any) -> str:  # noqa: N802
        return f"std::pow({self._print(expr.args[0])}, {self._print(expr.args[1])})"

    def _print_FloatTrueDiv(self, expr: Any) -> str:  # noqa: N802
        return f"({self._print(expr.args[0])}) / ({self._print(expr.args[1])})"

    def _print_Pow(self, expr: Any) -> str:  # noqa: N802
        base, exponent = expr.args
        if not exponent.is_integer or not exponent.is_number or exponent < 1:
            raise Untraceable(f"a size of {expr}")
        return "*".join([f"({self._print(base)})"] * int(exponent))


class _Reader:
    def __init__(self, program: ExportedProgram) -> None:
        self._program = program
        self._printer = _SizePrinter()
        self._parts: dict[str, Reference] = {}

    def read(self) -> Graph:
        sources = self._sources()
        nodes = tuple(
            node
            for item in self._program.graph.nodes
            if item.op == "call_function"
            for node in self._node(item)
        )
        returned = self._program.graph.output_node().args[0]
        kinds = self._program.graph_signature.output_specs
        outputs = tuple(
            self._reference(value)
            for value, spec in zip(returned, kinds, strict=True)
            if spec.kind is OutputKind.USER_OUTPUT
        )
        nested = not isinstance(self._program.call_spec.out_spec.type, type(None))
        return Graph(sources, nodes, outputs, nested, self._symbols(sources))

    def _sources(self) -> tuple[Source, ...]:
        found = []
        placeholders = [n for n in self._program.graph.nodes if n.op == "placeholder"]
        position = 0
        for node, spec in zip(placeholders, self._program.graph_signature.input_specs, strict=True):
            value = node.meta.get("val")
            if spec.kind is InputKind.USER_INPUT:
                if isinstance(value, torch.Tensor):
                    found.append(Source(node.name, self._kind(value), "input", str(position)))
                position += 1
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER):
                if spec.target in self._program.state_dict:
                    key = str(spec.target)
                    found.append(Source(node.name, self._kind(value), "state", key))
                else:
                    found.append(self._constant(node, str(spec.target)))
            elif spec.kind is InputKind.CONSTANT_TENSOR:
                found.append(self._constant(node, str(spec.target)))
            else:
                raise Untraceable(f"an input of kind {spec.kind.name.lower()}")
        return tuple(found)

    def _constant(self, node: torch.fx.Node, target: str) -> Source:
        tensor = self._program.constants[target]
        if tensor.numel() > _MOST_CONSTANT:
            raise Untraceable(f"a constant of {tensor.numel()} elements outside the state dict")
        values = tuple(float(value) for value in tensor.double().reshape(-1).tolist())
        return Source(node.name, self._kind(tensor), "constant", target, values)

    def _symbols(self, sources: tuple[Source, ...]) -> dict[str, tuple[str, int, int]]:
        found = {}
        for source in sources:
            for axis, extent in enumerate(source.kind.shape):
                if source.origin == "input" and extent.code.isidentifier():
                    found.setdefault(extent.code, (source.key, axis, extent.value))
        return found

    def _node(self, item: torch.fx.Node) -> list[Node]:
        value = item.meta.get("val")
        if item.target is operator.getitem:
            source, part = item.args
            assert isinstance(source, torch.fx.Node) and isinstance(part, int)
            self._parts[item.name] = Reference(source.name, part)
            return []
        if value is None or not isinstance(value, torch.Tensor | tuple | list):
            return []  # arithmetic on sizes: whoever uses the result has it as an expression
        assert isinstance(item.target, torch._ops.OpOverload)
        parts = [value] if isinstance(value, torch.Tensor) else list(value)
        kinds = tuple(self._kind(part) for part in parts if isinstance(part, torch.Tensor))
        arguments = [self._argument(argument) for argument in item.args]
        keywords = {name: self._argument(argument) for name, argument in item.kwargs.items()}
        op = str(item.target).removeprefix("aten.").removesuffix(".default")
        return [Node(item.name, op, arguments, keywords, kinds)]

    def _argument(self, value: Any) -> Argument:
        if isinstance(value, torch.fx.Node):
            inner = value.meta.get("val")
            return (
                self._reference(value) if isinstance(inner, torch.Tensor) else self._number(inner)
            )
        if isinstance(value, list | tuple):
            return [self._argument(item) for item in value]
        if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
            return self._number(value)
        if isinstance(value, torch.dtype):
            return str(value).removeprefix("torch.")
        if isinstance(value, float) and not math.isfinite(value):
            return Real("km::nan" if math.isnan(value) else "km::inf" if value > 0 else "-km::inf")
        if value is None or isinstance(value, bool | int | float | str):
            return value
        return str(value)

    def _number(self, value: Any) -> Argument:
        if isinstance(value, torch.SymInt):
            return Size(self._extent(value))
        if isinstance(value, torch.SymFloat):
            expression = value.node.expr
            is_number = expression.is_number
            return float(expression) if is_number else Real(self._printer.doprint(expression))
        return value

    def _reference(self, node: torch.fx.Node) -> Reference:
        return self._parts.get(node.name, Reference(node.name))

    def _kind(self, tensor: torch.Tensor) -> Kind:
        shape = tuple(self._extent(size) for size in tensor.shape)
        return Kind(str(tensor.dtype).removeprefix("torch."), shape)

    def _extent(self, size: int | torch.SymInt) -> Extent:
        if isinstance(size, int):
            return Extent(str(size), size)
        expression = (
            sympy.expand(size.node.expr) if size.node.expr.is_polynomial() else size.node.expr
        )
        value = size.node.hint if size.node.hint is not None else 0
        if expression.is_number:
            return Extent(str(int(expression)), int(expression))
        return Extent(self._printer.doprint(expression), int(value))
