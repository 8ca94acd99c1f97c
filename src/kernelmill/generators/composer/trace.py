"""From a task file to a Graph, through torch.export. Runs inside sandboxes only."""

import inspect
import logging
import math
import operator
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import msgspec
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim, ExportedProgram, default_decompositions, export
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._pytree import tree_unflatten
from torch.utils._sympy.printers import PythonPrinter

from kernelmill.generators.composer.graph import (
    Argument,
    Extent,
    Graph,
    Node,
    Real,
    Reference,
    Size,
    Source,
    Symbol,
    TensorSpec,
)
from kernelmill.sandbox.channel import Channel
from kernelmill.tasks.describe import explain_task_error
from kernelmill.tasks.module import TaskModule

_SEED = 1
_settings: Any = _config  # its functions are made at run time
_MOST_CONSTANT = 1 << 16
_MOST_NODES = 1000


_MULTIPLE = re.compile(r"(\d+)\*(s\d+)")


class Untraceable(Exception):
    """The reference does something a graph cannot say."""


def trace_in_sandbox(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry of a sandbox that traces one task."""
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    request = channel.receive().body
    try:
        graph = trace(TaskModule(request["source"], request["scale"]))
        channel.send({"graph": msgspec.to_builtins(graph)})
    except Exception as error:  # the task's code, and torch.export's own refusals
        channel.send({"error": explain_task_error(error)})


def trace(module: TaskModule) -> Graph:
    """Of sizes alone where that is enough: the tensors of a task may be larger than memory."""
    try:
        with FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True):
            model, inputs = module.model(_SEED), module.inputs(_SEED)
        return trace_model(model, inputs)
    except Exception:  # the task's code looks at numbers, or torch.export does
        draw = module.draw({}, "plain", _SEED)
        return trace_model(draw.model, draw.inputs)


def trace_model(model: torch.nn.Module, inputs: Sequence[Any]) -> Graph:
    with _settings.patch(use_duck_shape=False), _open_forms():
        program = export(
            model,
            tuple(inputs),
            dynamic_shapes=_dynamic_inputs(model, inputs),
            strict=False,
        ).run_decompositions(_decompositions())
    return _Reader(program).read()


def _decompositions() -> Any:
    """Core ATen, but attention stays in one piece."""
    table = default_decompositions()
    table.pop(torch.ops.aten.scaled_dot_product_attention.default, None)
    return table


@contextmanager
def _open_forms() -> Iterator[None]:
    """Operators that would fix their sizes while they are traced, in forms that do not."""
    with (
        mock.patch.object(math, "sqrt", _sqrt),
        mock.patch.object(math, "log", _log),
        mock.patch.object(torch, "linspace", _linspace),
        mock.patch.object(torch, "max_pool1d", _max_pool1d),
        mock.patch.object(torch, "take_along_dim", _take_along_dim),
        mock.patch.object(torch.Tensor, "take_along_dim", _take_along_dim),
    ):
        yield


_plain_sqrt = math.sqrt
_plain_log = math.log
_plain_linspace = torch.linspace


def _sqrt(number: Any) -> Any:
    symbolic = isinstance(number, torch.SymInt | torch.SymFloat)
    return torch.sym_sqrt(number) if symbolic else _plain_sqrt(number)


def _log(number: Any, *base: Any) -> Any:
    """Of a size as a tensor: export knows no logarithm of a symbol."""
    symbolic = isinstance(number, torch.SymInt | torch.SymFloat)
    if not symbolic:
        return _plain_log(number, *base)
    natural = torch.full((), number, dtype=torch.float32).log()
    return natural / _plain_log(*base) if base else natural


def _linspace(start: Any, end: Any, steps: Any, **options: Any) -> torch.Tensor:
    symbolic = isinstance(steps, torch.SymInt)
    if not symbolic:
        return _plain_linspace(start, end, steps, **options)
    places = torch.arange(steps)
    step = (end - start) / (steps - 1)
    back = end - step * (steps - 1 - places)
    line = torch.where(places < steps // 2, start + step * places, back)
    return line.to(options.get("dtype") or torch.get_default_dtype())


def _max_pool1d(
    value: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> torch.Tensor:
    def pair(size: Any, first: int) -> list[int]:
        return [first, size[0] if isinstance(size, list | tuple) else size]

    step = kernel_size if stride in (None, [], ()) else stride
    lines = torch.max_pool2d(
        value.unsqueeze(-2), pair(kernel_size, 1), pair(step, 1), pair(padding, 0),
        pair(dilation, 1), ceil_mode,
    )  # fmt: skip
    return lines.squeeze(-2)


def _take_along_dim(
    value: torch.Tensor, indices: torch.Tensor, dim: int | None = None
) -> torch.Tensor:
    if dim is None:
        return torch.gather(value.reshape(-1), 0, indices.reshape(-1))
    axes = [axis for axis in range(value.dim()) if axis != dim % value.dim()]
    wide, places = list(value.shape), list(indices.shape)
    for axis in axes:
        wide[axis] = places[axis] = indices.shape[axis] if wide[axis] == 1 else wide[axis]
    return torch.gather(value.expand(wide), dim, indices.expand(places))


def _dynamic_inputs(model: torch.nn.Module, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """One entry for every parameter of forward: `*args` is a single one."""
    kinds = [p.kind for p in inspect.signature(model.forward).parameters.values()]
    every = [_dynamic(value) for value in inputs]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return tuple(every)
    named = kinds.index(inspect.Parameter.VAR_POSITIONAL)
    return (*every[:named], tuple(every[named:]))


def _dynamic(value: Any) -> Any:
    """Every size may vary, unless the reference says otherwise."""
    if isinstance(value, torch.Tensor):
        return dict.fromkeys(range(value.dim()), Dim.AUTO)
    if isinstance(value, list | tuple):
        return type(value)(_dynamic(item) for item in value)
    return None


def _paths(item: Any, path: str) -> list[str]:
    if isinstance(item, list | tuple):
        return [p for n, inner in enumerate(item) for p in _paths(inner, f"{path}[{n}]")]
    if isinstance(item, dict):
        return [p for key, inner in item.items() for p in _paths(inner, f"{path}[{key!r}]")]
    return [path]


def _python(value: Any) -> str:
    """A structure of expressions as one expression."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_python(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_python(item) for item in value)}]"
    if isinstance(value, tuple):
        return f"({', '.join(_python(item) for item in value)}{',' * (len(value) == 1)})"
    return str(value)


class _SizePrinter(PythonPrinter):
    """Sizes in words that C++ and Python share."""

    def _print_FloorDiv(self, expr: Any) -> str:  # noqa: N802
        return f"floordiv({self._print(expr.args[0])}, {self._print(expr.args[1])})"

    _print_CleanDiv = _print_FloorDiv  # noqa: N815
    _print_IntTrueDiv = _print_FloorDiv  # noqa: N815

    def _print_Max(self, expr: Any) -> str:  # noqa: N802
        return self._nested("larger", expr)

    def _print_Min(self, expr: Any) -> str:  # noqa: N802
        return self._nested("smaller", expr)

    def _print_Mod(self, expr: Any) -> str:  # noqa: N802
        return self._nested("modulo", expr)

    _print_PythonMod = _print_Mod  # noqa: N815

    def _nested(self, function: str, expr: Any) -> str:
        first, *rest = (self._print(argument) for argument in expr.args)
        for item in rest:
            first = f"{function}({first}, {item})"
        return str(first)

    def _print_ToFloat(self, expr: Any) -> str:  # noqa: N802
        return f"double({self._print(expr.args[0])})"

    def _print_FloatPow(self, expr: Any) -> str:  # noqa: N802
        return f"std::pow({self._print(expr.args[0])}, {self._print(expr.args[1])})"

    def _print_OpaqueUnaryFn_sqrt(self, expr: Any) -> str:  # noqa: N802
        return f"std::sqrt(double({self._print(expr.args[0])}))"

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
        count = len(self._program.graph.nodes)
        if count > _MOST_NODES:
            raise Untraceable(f"{count} operators: a loop over a size, unrolled")
        sources = self._sources()
        nodes = tuple(
            node
            for item in self._program.graph.nodes
            if item.op == "call_function"
            for node in self._node(item)
        )
        returned, outputs = self._outputs()
        return Graph(sources, nodes, outputs, returned, self._symbols(sources))

    def _outputs(self) -> tuple[str, tuple[Reference, ...]]:
        """What forward returns as Python (`(y0, [y1])`), and the tensors in it."""
        values = self._program.graph.output_node().args[0]
        kinds = self._program.graph_signature.output_specs
        assert isinstance(values, tuple | list)
        references: list[Reference] = []
        leaves = []
        for value, spec in zip(values, kinds, strict=True):
            if spec.kind is not OutputKind.USER_OUTPUT:
                continue  # written back into buffers: nobody reads them after the call
            if isinstance(value, torch.fx.Node) and isinstance(value.meta["val"], torch.Tensor):
                leaves.append(f"y{len(references)}")
                references.append(self._reference(value))
            else:
                leaves.append(self._plain(self._argument(value)))
        return _python(tree_unflatten(leaves, self._program.call_spec.out_spec)), tuple(references)

    def _plain(self, value: Argument) -> str:
        if isinstance(value, Size):
            return value.extent.code
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        raise Untraceable("an output that is neither a tensor nor a plain value")

    def _sources(self) -> tuple[Source, ...]:
        found = []
        placeholders = [n for n in self._program.graph.nodes if n.op == "placeholder"]
        specs = self._program.graph_signature.input_specs
        paths = iter(self._input_paths())
        for node, spec in zip(placeholders, specs, strict=True):
            value = node.meta.get("val")
            if spec.kind is InputKind.USER_INPUT:
                path = next(paths)
                if isinstance(value, torch.Tensor):
                    found.append(Source(node.name, self._kind(value), "input", path))
            elif (
                spec.kind in (InputKind.PARAMETER, InputKind.BUFFER)
                and spec.target in self._program.state_dict
            ):
                found.append(Source(node.name, self._kind(value), "state", str(spec.target)))
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                found.append(self._constant(node, str(spec.target)))
            else:
                raise Untraceable(f"an input of kind {spec.kind.name.lower()}")
        return tuple(found)

    def _input_paths(self) -> list[str]:
        """How each leaf of the inputs is reached, in order: `0`, `1[2]`, `1['mask']`."""
        tree = self._program.call_spec.in_spec
        assert tree is not None
        marked = tree_unflatten(list(range(tree.num_leaves)), tree)
        arguments, _keywords = marked
        return [path for number, item in enumerate(arguments) for path in _paths(item, str(number))]

    def _constant(self, node: torch.fx.Node, target: str) -> Source:
        tensor = self._program.constants[target]
        if tensor.numel() > _MOST_CONSTANT:
            raise Untraceable(f"a constant of {tensor.numel()} elements outside the state dict")
        values = tuple(self._argument(value) for value in tensor.double().reshape(-1).tolist())
        return Source(node.name, self._kind(tensor), "constant", target, values)

    def _symbols(self, sources: tuple[Source, ...]) -> dict[str, Symbol]:
        found: dict[str, Symbol] = {}
        wanted: set[str] = set()
        for source in sources:
            if source.origin != "input":
                continue
            for axis, extent in enumerate(source.kind.shape):
                names = re.findall(r"\bs\d+\b", extent.code)
                wanted.update(names)
                if extent.code in names:
                    found.setdefault(extent.code, Symbol(source.key, axis, extent.value))
                elif multiple := _MULTIPLE.fullmatch(extent.code):
                    factor, name = int(multiple[1]), multiple[2]
                    symbol = Symbol(source.key, axis, extent.value // factor, factor)
                    found.setdefault(name, symbol)
        if wanted - found.keys():
            raise Untraceable(
                f"sizes that no input has: {', '.join(sorted(wanted - found.keys()))}"
            )
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
        if not isinstance(item.target, torch._ops.OpOverload):
            raise Untraceable(f"the operator {item.target}")
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

    def _kind(self, tensor: torch.Tensor) -> TensorSpec:
        shape = tuple(self._extent(size) for size in tensor.shape)
        return TensorSpec(str(tensor.dtype).removeprefix("torch."), shape)

    def _extent(self, size: int | torch.SymInt) -> Extent:
        if isinstance(size, int):
            return Extent(str(size), size)
        given = size.node.expr
        expression = given.expand() if given.is_polynomial() else given
        value = size.node.hint if size.node.hint is not None else 0
        if expression.is_number:
            return Extent(str(int(expression)), int(expression))
        return Extent(self._printer.doprint(expression), int(value))
