"""From a task file to a Graph, through torch.export. Runs inside sandboxes only."""

import inspect
import logging
import math
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec
import torch
from msgspec.structs import replace
from torch._decomp import global_decomposition_table
from torch._subclasses.fake_tensor import FakeTensor
from torch.export import Dim, ExportedProgram, default_decompositions, export
from torch.export.graph_signature import ConstantArgument, InputKind, OutputKind
from torch.fx.experimental import _config
from torch.utils._pytree import tree_unflatten

from kernelmill.generators.composer.ir.expressions import Apply, Constant, Variable
from kernelmill.generators.composer.ir.graph import (
    Argument,
    Extent,
    FixedInput,
    Graph,
    Node,
    Real,
    Reference,
    Size,
    Source,
    Symbol,
    TensorSpec,
)
from kernelmill.generators.composer.ir.operators import Operator
from kernelmill.generators.composer.ir.sizes import size
from kernelmill.generators.composer.lowering import Lowering
from kernelmill.generators.composer.tracing.conditions import read_conditions
from kernelmill.generators.composer.tracing.constructor import find_constructor
from kernelmill.generators.composer.tracing.sizes import SizePrinter, Untraceable, in_integers
from kernelmill.generators.composer.tracing.symbolic_forms import symbolic_forms
from kernelmill.generators.composer.tracing.widening import widen
from kernelmill.sandbox.channel import Channel
from kernelmill.tasks.describe import explain_task_error
from kernelmill.tasks.fake_tensors import (
    RefuseLargeTensors,
    TooLarge,
    UnknownValues,
    without_storage,
)
from kernelmill.tasks.module import TaskModule

_SEED = 1
_settings: Any = _config  # its functions are made at run time
_MOST_CONSTANT = 1 << 16
_MOST_OPERATORS = 2000
Varying = Callable[[torch.Tensor], range]
"""Which axes of an input may vary in size."""


def trace_in_sandbox(channel: Channel, arguments: dict[str, Any], _scratch: str) -> None:
    """Entry of a sandbox that traces one task."""
    torch.set_grad_enabled(False)
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    request = channel.receive().body
    try:
        graph = trace_task(request["source"], request["scale"])
        channel.send({"graph": msgspec.to_builtins(graph)})
    except Exception as error:  # the task's code, and torch.export's own refusals
        channel.send({"error": explain_task_error(error)})


def trace_task(source: str, scale: str) -> Graph:
    """The graph of a task file, with the reference's constructor."""
    module = TaskModule(source, scale)
    return replace(trace(module), constructor=find_constructor(module, scale))


def trace(module: TaskModule) -> Graph:
    """Of sizes alone where that is enough: the tensors of a task may be larger than memory."""
    try:
        with without_storage() as fake:
            model, inputs = module.model(_SEED), module.inputs(_SEED)
        if fake.has_lost_values:
            raise UnknownValues("the constructor computes tables from large tensors")
        _demand_constants(model)
        return trace_model(model, inputs)
    except Exception as error:  # the task's code looks at numbers, or torch.export does
        first = error
    try:
        with RefuseLargeTensors():
            draw = module.draw({}, "plain", _SEED)
    except TooLarge:
        raise first from None
    return trace_model(draw.model, draw.inputs)


def _demand_constants(model: torch.nn.Module) -> None:
    """Tensors that are neither parameters nor buffers are constants: their values are needed."""
    for module in model.modules():
        for value in vars(module).values():
            if isinstance(value, FakeTensor):
                raise Untraceable(f"a constant of {value.numel()} elements outside the state dict")


def trace_model(model: torch.nn.Module, inputs: Sequence[Any]) -> Graph:
    with _settings.patch(use_duck_shape=False), symbolic_forms():
        try:
            exported = _exported(model, inputs, _every_axis)
        except NotImplementedError:  # equations of sizes that nobody solves: a pool of what is left
            exported = _exported(model, inputs, _first_axis)
        program = exported.run_decompositions(_decompositions())
    return widen(_Reader(program).read())


def _exported(model: torch.nn.Module, inputs: Sequence[Any], varying: Varying) -> ExportedProgram:
    shapes = _dynamic_inputs(model, inputs, varying)
    return export(model, tuple(inputs), dynamic_shapes=shapes, strict=False)


def _every_axis(tensor: torch.Tensor) -> range:
    return range(tensor.dim())


def _first_axis(tensor: torch.Tensor) -> range:
    return range(min(1, tensor.dim()))


def _decompositions() -> Any:
    """Core ATen, but attention stays in one piece; and whatever else torch takes apart that no
    rule lowers as a whole."""
    table = default_decompositions()
    for operator_, decomposition in global_decomposition_table["post_autograd"].items():
        named = isinstance(operator_, torch._ops.OpOverload) and operator_.namespace == "aten"
        if named and operator_ not in table and not Lowering.lowers(_operator_name(operator_)):
            table[operator_] = decomposition
    table.pop(torch.ops.aten.scaled_dot_product_attention.default, None)
    return table


def _operator_name(target: Any) -> str:
    """`add.Tensor`, `relu`: without its namespace, and without a form that is the only one."""
    return str(target).removeprefix("aten.").removesuffix(".default")


def _dynamic_inputs(
    model: torch.nn.Module, inputs: Sequence[Any], varying: Varying
) -> tuple[Any, ...]:
    """One entry for every parameter of forward: `*args` is a single one."""
    kinds = [p.kind for p in inspect.signature(model.forward).parameters.values()]
    every = [_dynamic(value, varying) for value in inputs]
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        return tuple(every)
    named = kinds.index(inspect.Parameter.VAR_POSITIONAL)
    return (*every[:named], tuple(every[named:]))


def _dynamic(value: Any, varying: Varying) -> Any:
    """The sizes of these axes may vary, unless the reference says otherwise."""
    if isinstance(value, torch.Tensor):
        return dict.fromkeys(varying(value), Dim.AUTO)
    if isinstance(value, list | tuple):
        return type(value)(_dynamic(item, varying) for item in value)
    return None


def _paths(item: Any, path: str) -> list[str]:
    if isinstance(item, list | tuple):
        return [p for n, inner in enumerate(item) for p in _paths(inner, f"{path}[{n}]")]
    if isinstance(item, dict):
        return [p for key, inner in item.items() for p in _paths(inner, f"{path}[{key!r}]")]
    return [path]


def _fixed_inputs(item: Any, path: str) -> Iterator[FixedInput]:
    if isinstance(item, list | tuple | dict):
        yield FixedInput(path, len(item), is_length=True)
        pairs = item.items() if isinstance(item, dict) else enumerate(item)
        for key, inner in pairs:
            yield from _fixed_inputs(inner, f"{path}[{key!r}]")
    elif isinstance(item, ConstantArgument):
        yield FixedInput(path, item.value)


def _python(value: Any) -> str:
    """A structure of expressions as one expression."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_python(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(_python(item) for item in value)}]"
    if isinstance(value, tuple):
        return f"({', '.join(_python(item) for item in value)}{',' * (len(value) == 1)})"
    return str(value)


class _Reader:
    def __init__(self, program: ExportedProgram) -> None:
        self._program = program
        self._printer = SizePrinter()
        self._parts: dict[str, Reference] = {}

    def read(self) -> Graph:
        called = [node for node in self._program.graph.nodes if node.op == "call_function"]
        count = sum(isinstance(node.target, torch._ops.OpOverload) for node in called)
        if count > _MOST_OPERATORS:
            raise Untraceable(
                f"{count} operators, more than {_MOST_OPERATORS}: a large network, or a loop "
                "over a size that was unrolled"
            )
        sources = self._sources()
        nodes = tuple(node for item in called for node in self._node(item))
        returned, outputs = self._outputs()
        symbols = self._symbols(sources)
        conditions = read_conditions(self._program, symbols, self._printer)
        return Graph(sources, nodes, outputs, returned, symbols, conditions, self._fixed())

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
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER) and self._is_state(
                str(spec.target)
            ):
                found.append(Source(node.name, self._kind(value), "state", str(spec.target)))
            elif spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
                found.append(self._constant(node, str(spec.target)))
            else:
                raise Untraceable(f"an input of kind {spec.kind.name.lower()}")
        return tuple(found)

    def _is_state(self, target: str) -> bool:
        """Whether it is read where the model has it: a large buffer is, in a state dict or not."""
        if target in self._program.state_dict:
            return True
        tensor = self._program.constants.get(target)
        registered = target in self._program.graph_signature.buffers
        return registered and tensor is not None and tensor.numel() > _MOST_CONSTANT

    def _input_paths(self) -> list[str]:
        """How each leaf of the inputs is reached, in order: `0`, `1[2]`, `1['mask']`."""
        tree = self._program.call_spec.in_spec
        assert tree is not None
        marked = tree_unflatten(list(range(tree.num_leaves)), tree)
        arguments, _keywords = marked
        return [path for number, item in enumerate(arguments) for path in _paths(item, str(number))]

    def _fixed(self) -> tuple[FixedInput, ...]:
        """Arguments that are no tensors, and lengths of those that hold some."""
        tree = self._program.call_spec.in_spec
        assert tree is not None
        specs = self._program.graph_signature.input_specs
        leaves = [spec for spec in specs if spec.kind is InputKind.USER_INPUT]
        arguments, _keywords = tree_unflatten(
            [spec.arg if isinstance(spec.arg, ConstantArgument) else None for spec in leaves], tree
        )
        return tuple(
            fixed
            for number, item in enumerate(arguments)
            for fixed in _fixed_inputs(item, str(number))
        )

    def _constant(self, node: torch.fx.Node, target: str) -> Source:
        tensor = self._program.constants[target]
        if isinstance(tensor, FakeTensor):
            raise Untraceable(f"the values of {target}")
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
                tree = size(extent)
                wanted |= tree.names
                match tree.bare:
                    case Variable(name):
                        found.setdefault(name, Symbol(source.key, axis, extent.value))
                    case Apply(Operator.MUL, (Constant(factor), Variable(name))):
                        value = extent.value // int(factor)
                        found.setdefault(name, Symbol(source.key, axis, value, int(factor)))
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
        return [Node(item.name, _operator_name(item.target), arguments, keywords, kinds)]

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
            expression = in_integers(value.node.expr)
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
        given = in_integers(size.node.expr)
        expression = given.expand() if given.is_polynomial() else given
        value = size.node.hint if size.node.hint is not None else 0
        if expression.is_number:
            return Extent(str(int(expression)), int(expression))
        return Extent(self._printer.doprint(expression), int(value))
