"""Capture of a module as one graph, and what must hold for the graph to stand for the module."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import fx, nn
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from kernelmill.records.errors import UsageError


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


class _Part(NamedTuple):
    """One module within the captured one."""

    owner: int
    name: str
    kind: type
    training: bool


class Capture(NamedTuple):
    """A module's graph, functional, with every size as it was in the example."""

    graph: fx.GraphModule
    sources: tuple[Source, ...]
    """Of the placeholders, in order."""
    structure: pytree.TreeSpec
    leaves: tuple[Leaf, ...]
    returned: pytree.TreeSpec
    parts: tuple[_Part, ...]
    training: bool

    def refusal(self, module: nn.Module, leaves: Sequence[Any], structure: pytree.TreeSpec) -> str:
        """Why a call cannot be answered by the graph; empty where it can."""
        if structure != self.structure:
            return "other arguments"
        for given, wanted in zip(leaves, self.leaves, strict=True):
            if reason := _leaf_refusal(given, wanted):
                return reason
        return self._module_refusal(module)

    def _module_refusal(self, module: nn.Module) -> str:
        if module.training is not self.training:
            return "other training mode"
        modules = [module]
        for owner, name, kind, training in self.parts:
            part = modules[owner]._modules.get(name)
            if part is None or part.__class__ is not kind or "forward" in part.__dict__:
                return "other submodules"
            if part.training is not training:
                return "other training mode"
            if part._forward_hooks or part._forward_pre_hooks:
                return "hooks"
            modules.append(part)
        return ""

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
    hooked = [
        name or "the module itself"
        for name, part in module.named_modules()
        if (part._forward_hooks or part._forward_pre_hooks) and part is not module
    ]
    if hooked:
        raise UsageError(f"{hooked[0]} has forward hooks, which a captured graph would not call")
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of torch about its own code
            program = torch.export.export(module, tuple(arguments), dict(named), strict=False)
            program = program.run_decompositions({})
    except Exception as error:  # whatever the module's own code or the exporter raises
        first = next((line for line in str(error).splitlines() if line.strip()), "")
        raise UsageError(
            f"torch.export cannot capture {type(module).__name__}: {type(error).__name__}: {first}"
        ) from error
    signature = program.graph_signature
    if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
        changed = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
        raise UsageError(
            f"{type(module).__name__} changes {changed[0]} in its forward; call .eval() first, or "
            "optimize the parts that change nothing"
        )
    if any(spec.kind is not OutputKind.USER_OUTPUT for spec in signature.output_specs):
        raise UsageError(f"{type(module).__name__} returns more than its outputs")
    leaves, structure = pytree.tree_flatten((tuple(arguments), dict(named)))
    return Capture(
        program.graph_module,
        _sources(program),
        structure,
        tuple(map(_leaf, leaves)),
        program.call_spec.out_spec,
        _parts(module),
        module.training,
    )


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


def _parts(module: nn.Module) -> tuple[_Part, ...]:
    found: list[_Part] = []
    modules = [module]
    for number, owner in enumerate(modules):
        for name, part in owner._modules.items():
            if part is not None:
                found.append(_Part(number, name, type(part), part.training))
                modules.append(part)
    return tuple(found)


def _leaf(value: Any) -> Leaf:
    if not isinstance(value, torch.Tensor):
        return Leaf(value)
    return Leaf(None, value.dtype, tuple(value.shape), tuple(value.stride()), value.device)


def _leaf_refusal(given: Any, wanted: Leaf) -> str:
    if wanted.dtype is None:
        same = type(given) is type(wanted.value) and given == wanted.value
        return "" if same else "other arguments"
    if not isinstance(given, torch.Tensor):
        return "other arguments"
    if given.dtype is not wanted.dtype:
        return "dtype"
    if given.device != wanted.device:
        return "device"
    if given.shape != wanted.shape:
        return "sizes"
    return "" if given.stride() == wanted.stride else "strides"


def _state(module: Any, path: Sequence[str]) -> Any:
    *owners, leaf = path
    for name in owners:
        module = module._modules[name]
    found = module._parameters.get(leaf)
    return module._buffers[leaf] if found is None else found
