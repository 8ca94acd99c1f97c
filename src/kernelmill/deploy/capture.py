"""Capture of a module as one graph, and what must hold for the graph to stand for the module."""

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx, nn
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.nn.parameter import is_lazy
from torch.utils import _pytree as pytree

from kernelmill.deploy.regions import operator_name
from kernelmill.records.errors import UsageError
from kernelmill.shipped.snapshot import ModuleSnapshot, context_refusal, is_plain

_PLAIN = (
    int | float | complex | bool | str | None | torch.dtype | torch.device | torch.layout
    | torch.memory_format
)  # fmt: skip
"""Arguments that a graph holds as they were."""
_FILL = {"new_zeros": 0, "zeros_like": 0, "new_ones": 1, "ones_like": 1}
_FILLED = {"new_full": 2, "full_like": 1}
"""Operators that fill with the argument of this number."""
_STRIDED = ("as_strided", "_reshape_alias")


class Source(NamedTuple):
    """Where the value of a placeholder comes from."""

    kind: str
    """`state`, `constant` or `input`."""
    path: tuple[str, ...] = ()
    """Names from the module to a parameter or buffer."""
    constant: Any = None
    number: int = 0
    """Position among the leaves of the arguments."""


class Leaf(NamedTuple):
    """One argument as it was captured: a tensor's type, or another value."""

    value: Any = None
    dtype: torch.dtype | None = None
    shape: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    device: torch.device | None = None


class Capture(NamedTuple):
    """A module's graph, functional, with every size as it was in the example."""

    graph: fx.GraphModule
    sources: tuple[Source, ...]
    """Of the placeholders, in order."""
    structure: pytree.TreeSpec
    leaves: tuple[Leaf, ...]
    returned: pytree.TreeSpec
    snapshot: ModuleSnapshot
    state: tuple[Leaf, ...]
    """What each placeholder that is state was, in their order."""
    default_dtype: torch.dtype
    default_device: torch.device
    strides: tuple[tuple[int, ...] | None, ...]
    """Of the outputs; None for what is no tensor."""

    def refusal(self, module: nn.Module, leaves: Sequence[Any], structure: pytree.TreeSpec) -> str:
        """Why a call cannot be answered by the graph; empty where it can."""
        if structure != self.structure:
            return "other arguments"
        for given, wanted in zip(leaves, self.leaves, strict=True):
            if reason := _leaf_refusal(given, wanted):
                return reason
        if torch.get_default_dtype() is not self.default_dtype:
            return "other default dtype"
        return self._context_refusal() or self._module_refusal(module)

    def _context_refusal(self) -> str:
        if torch.compiler.is_compiling():
            return ""  # A compiler looks into the original as well as into the graph.
        if torch.get_default_device() != self.default_device:
            return "other default device"
        return context_refusal()

    def _module_refusal(self, module: nn.Module) -> str:
        if reason := self.snapshot.difference(module):
            return reason
        paths = (source.path for source in self.sources if source.kind == "state")
        for path, wanted in zip(paths, self.state, strict=True):
            if _leaf_refusal(_state(module, path), wanted, any_strides=True):
                return "other state"
        return ""

    def copied(self, memo: dict[int, Any]) -> "Capture":
        """For a deep copy of the module, made with this memo."""
        return self._replace(
            snapshot=copy.deepcopy(self.snapshot, memo), sources=copy.deepcopy(self.sources, memo)
        )

    def values(self, module: nn.Module, leaves: Sequence[Any]) -> list[Any]:
        """Values of the placeholders: state as it is now."""
        found: list[Any] = []
        for kind, path, constant, number in self.sources:
            if kind == "state":
                found.append(_state(module, path))
            else:
                found.append(leaves[number] if kind == "input" else constant)
        return found


def capture_module(
    module: nn.Module, arguments: Sequence[Any], named: Mapping[str, Any]
) -> Capture:
    """Raises UsageError for a module that cannot stand as one graph."""
    leaves, structure = pytree.tree_flatten((tuple(arguments), dict(named)))
    _demand_known_arguments(leaves)
    _demand_state(module)
    _demand_values(module, leaves)
    _demand_no_hooks(module)
    snapshot = ModuleSnapshot(module)
    outputs = _call_once(module, snapshot, arguments, named)
    program, literals = _export(module, arguments, named)
    _demand_known_constants(module, program, literals)
    _simplify(program.graph_module)
    sources = _sources(program)
    return Capture(
        program.graph_module,
        sources,
        structure,
        tuple(map(_leaf, leaves)),
        program.call_spec.out_spec,
        snapshot,
        tuple(_leaf(_state(module, one.path)) for one in sources if one.kind == "state"),
        torch.get_default_dtype(),
        torch.get_default_device(),
        tuple(one.stride() if is_plain(one) else None for one in outputs),
    )


def _demand_known_arguments(leaves: Sequence[Any]) -> None:
    for leaf in leaves:
        if not isinstance(leaf, torch.Tensor | _PLAIN):
            raise UsageError(
                f"a {type(leaf).__name__} is among the arguments, which can be tensors and plain "
                "values: optimize a module as a whole, not one of its methods"
            )


def _demand_values(module: nn.Module, leaves: Sequence[Any]) -> None:
    for tensor in (*leaves, *module.parameters(), *module.buffers()):
        if isinstance(tensor, torch.Tensor) and tensor.is_meta:
            raise UsageError(
                f"tensors of {module._get_name()} or its arguments are on the device meta, "
                "where nothing can be run: give them values first (to_empty, load_state_dict)"
            )


def _demand_state(module: nn.Module) -> None:
    for name, one in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(one):
            raise UsageError(f"{name} of {module._get_name()} has no sizes yet: call it once first")


def _demand_no_hooks(module: nn.Module) -> None:
    for name, part in module.named_modules():
        if part is not module and (part._forward_hooks or part._forward_pre_hooks):
            raise UsageError(f"{name} has forward hooks, which a captured graph would not call")
    if reason := context_refusal():
        raise UsageError(f"a module cannot be captured under {reason}")


def _call_once(
    module: nn.Module, snapshot: ModuleSnapshot, arguments: Sequence[Any], named: Mapping[str, Any]
) -> list[Any]:
    """The outputs. Raises UsageError where a call does more than return them, as a graph would."""
    with torch.no_grad():
        outputs = pytree.tree_leaves(module(*arguments, **named))
    if reason := snapshot.difference(module):
        raise UsageError(
            f"{module._get_name()} changes itself in its forward: {reason}. A captured graph "
            "would not; optimize the parts that change nothing"
        )
    return outputs


def _export(
    module: nn.Module, arguments: Sequence[Any], named: Mapping[str, Any]
) -> tuple[torch.export.ExportedProgram, set[str]]:
    """The program, and the names of its constants that the code itself writes down."""
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of torch about its own code
            program = torch.export.export(module, tuple(arguments), dict(named), strict=False)
            literals = set(_literals(program))
            program = program.run_decompositions({})
    except GuardOnDataDependentSymNode as error:
        raise UsageError(
            f"{module._get_name()} branches on the values of tensors, which a graph cannot: "
            "optimize the parts that do not"
        ) from error
    except Exception as error:  # whatever the module's own code or the exporter raises
        first = next((line for line in str(error).splitlines() if line.strip()), "")
        raise UsageError(
            f"torch.export cannot capture {module._get_name()}: {type(error).__name__}: {first}"
        ) from error
    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
        raise UsageError(
            f"{module._get_name()} changes {changed[0]} in its forward: "
            f"{'call .eval() first, or ' * module.training}optimize the parts that change nothing"
        )
    if any(spec.kind is not OutputKind.USER_OUTPUT for spec in signature.output_specs):
        raise UsageError(f"{module._get_name()} returns more than its outputs")
    return program, literals


def _literals(program: torch.export.ExportedProgram) -> Iterator[str]:
    constants = {
        spec.arg.name: str(spec.target)
        for spec in program.graph_signature.input_specs
        if spec.kind is InputKind.CONSTANT_TENSOR
    }
    for node in program.graph.nodes:
        fresh = all(operator_name(user) == "lift_fresh_copy" for user in node.users)
        if node.op == "placeholder" and node.name in constants and fresh:
            yield constants[node.name]


def _demand_known_constants(
    module: nn.Module, program: torch.export.ExportedProgram, literals: set[str]
) -> None:
    """Tensors that are neither arguments nor state must be attributes, whose change is noticed."""
    attributes = {
        value.untyped_storage().data_ptr(): value
        for part in module.modules()
        for value in pytree.tree_leaves(list(part.__dict__.values()))
        if isinstance(value, torch.Tensor) and not isinstance(value, nn.Parameter)
    }
    for name, value in program.constants.items():
        if name in literals or not isinstance(value, torch.Tensor):
            continue
        known = attributes.get(value.untyped_storage().data_ptr())
        if known is None or known.requires_grad:
            raise UsageError(
                f"{module._get_name()} uses a tensor of shape {list(value.shape)} that is "
                "neither an argument nor a parameter or buffer: pass it as an argument, or "
                "optimize a module that holds it"
            )


def _simplify(module: fx.GraphModule) -> None:
    """Makes tensors of one value from nothing, where the code reads another's shape and type."""
    for node in list(module.graph.nodes):
        name = operator_name(node)
        if name in _STRIDED:
            raise UsageError(f"{name} reads memory by strides, which kernels do not keep")
        fill = node.args[_FILLED[name]] if name in _FILLED else _FILL.get(name)
        value = node.meta.get("val")
        if fill is None or not isinstance(value, torch.Tensor) or isinstance(fill, fx.Node):
            continue
        options: dict[str, Any] = {
            "dtype": value.dtype,
            "device": value.device,
            "pin_memory": False,
        }
        with module.graph.inserting_before(node):
            made = module.graph.call_function(
                torch.ops.aten.full.default,
                (list(value.shape), fill),
                options | {"pin_memory": False},
            )
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    module.recompile()


def _sources(program: torch.export.ExportedProgram) -> tuple[Source, ...]:
    found, number = [], 0
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            found.append(Source("input", number=number))
            number += 1
        elif spec.kind is InputKind.PARAMETER or (
            spec.kind is InputKind.BUFFER and spec.target is not None
        ):
            found.append(Source("state", tuple(str(spec.target).split("."))))
        elif spec.kind is InputKind.CONSTANT_TENSOR:
            found.append(Source("constant", constant=program.constants[str(spec.target)]))
        else:
            raise UsageError(f"the graph needs {spec.kind.name.lower()}, which is not supported")
    return tuple(found)


def _leaf(value: Any) -> Leaf:
    if not isinstance(value, torch.Tensor):
        return Leaf(value)
    return Leaf(None, value.dtype, tuple(value.shape), tuple(value.stride()), value.device)


def _leaf_refusal(given: Any, wanted: Leaf, any_strides: bool = False) -> str:
    if wanted.dtype is None:
        same = type(given) is type(wanted.value) and given == wanted.value
        return "" if same else "other arguments"
    if not isinstance(given, torch.Tensor):
        return "other arguments"
    if not is_plain(given):
        return "layout"
    if given.dtype is not wanted.dtype:
        return "dtype"
    if given.device != wanted.device:
        return "device"
    if _is_meant_to_vary(given) or given.shape != wanted.shape:
        return "sizes"
    return "" if any_strides or given.stride() == wanted.stride else "strides"


def _is_meant_to_vary(tensor: torch.Tensor) -> bool:
    """Whether torch.export was told that a size is dynamic; a comparison would make it static."""
    if not torch.compiler.is_exporting():
        return False
    return not all(isinstance(size, int) for size in tensor.shape)


def _state(module: Any, path: Sequence[str]) -> Any:
    *owners, leaf = path
    for name in owners:
        module = module._modules[name]
    found = module._parameters.get(leaf)
    return module._buffers.get(leaf) if found is None else found
