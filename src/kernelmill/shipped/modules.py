"""Drop-in modules: a reference's class whose forward calls a proven kernel where it may."""

import functools
import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree

from .operators import Kernel
from .snapshot import ModuleSnapshot, UnchangedTensor, context_refusal


class _Returned(NamedTuple):
    """What a reference returns."""

    is_tensor: bool
    spec: pytree.TreeSpec
    problem: str
    """Why the operator cannot stand for the reference; empty where it can."""


@functools.cache
def _structure(kernel: Kernel) -> _Returned:
    """Found without computing, at the sizes of the reference's file."""
    problem = ""
    with FakeTensorMode(), torch.random.fork_rng(devices=()), torch.no_grad():
        model = kernel.new_reference()
        versions = [buffer._version for buffer in model.buffers()]
        snapshot = ModuleSnapshot(model)
        outputs = model(*kernel.example_inputs())
        if versions != [buffer._version for buffer in model.buffers()]:
            problem = "updates buffers"
        if snapshot.difference(model):
            problem = "changes itself"
        leaves, spec = pytree.tree_flatten(outputs)
    if not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        problem = "returns other values than tensors"
    return _Returned(isinstance(outputs, torch.Tensor), spec, problem)


def module_class(kernel: Kernel, name: str, module: str) -> type[nn.Module]:
    """A subclass of the reference's Model under this name, for the given Python module.

    Its constructor, state dict and gradients are the reference's own. The kernel runs where no
    gradient is needed, outside of autocast, and for what it was proven for.
    """
    signature = inspect.signature(kernel.reference.Model.forward)
    known: list[pytree.TreeSpec | None] = [None]
    paths = [name.split(".") for name in kernel.state_names]

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
        base.__init__(self, *arguments, **named)
        proven = kernel.init_arguments()
        bound = inspect.signature(base.__init__).bind(self, *arguments, **named)
        bound.apply_defaults()
        wanted = inspect.signature(base.__init__).bind(self, *proven)
        wanted.apply_defaults()
        same = _same(list(bound.arguments.values())[1:], list(wanted.arguments.values())[1:])
        returned = _structure(kernel)
        known[:] = [None if returned.is_tensor else returned.spec]
        self._kernel_problem = returned.problem if same else "other constructor arguments"
        mode_matters = any(_reads_mode(type(part)) for part in self.modules())
        self._kernel_constants = [UnchangedTensor(one) for one in _unsaved_buffers(self)]
        self._kernel_snapshot = ModuleSnapshot(self, "_kernel_", mode_matters)

    def forward(self: Any, *inputs: Any, **named: Any) -> Any:
        if named:
            bound = signature.bind(self, *inputs, **named)
            bound.apply_defaults()
            inputs = tuple(bound.arguments.values())[1:]
        given, problem = kernel.flatten(inputs), _problem(self)
        if given is None:
            problem = problem or "other arguments"
        tensors = [] if problem else [*(given or ()), *(_lookup(self, path) for path in paths)]
        problem = problem or _call_problem(tensors, kernel.device)
        if problem:
            if not torch.compiler.is_compiling():
                kernel.engagement.count(problem)
            return base.forward(self, *inputs)
        outputs = kernel.operator(*tensors)
        return _restore(outputs, known[0])

    base: Any = kernel.reference.Model
    methods: Any = {"__init__": __init__, "forward": forward}
    for called, method in methods.items():  # pickle finds them by these names
        method.__module__, method.__qualname__ = module, f"{name}.{called}"
    return type(
        name, (base,), methods | {"__module__": module, "__doc__": base.__doc__, "kernel": kernel}
    )


def _restore(outputs: Any, spec: pytree.TreeSpec | None) -> Any:
    """An operator's outputs as the reference returns them."""
    if spec is None:
        return outputs
    leaves = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
    return pytree.tree_unflatten(leaves, spec)


def _problem(module: Any) -> str:
    """Why a module's kernel must not be called, whatever the inputs."""
    if module._kernel_problem:
        return str(module._kernel_problem)
    if reason := module._kernel_snapshot.difference(module):
        return str(reason)
    found = _unsaved_buffers(module)
    if len(found) != len(module._kernel_constants) or not all(
        wanted.is_still(one) for wanted, one in zip(module._kernel_constants, found, strict=True)
    ):
        return "other state"
    return ""


def _unsaved_buffers(module: nn.Module) -> list[torch.Tensor]:
    """Buffers outside of the state dict, whose values a kernel takes from the constructor."""
    return [
        buffer
        for part in module.modules()
        for name, buffer in part._buffers.items()
        if buffer is not None and name in part._non_persistent_buffers_set
    ]


def _call_problem(tensors: Sequence[torch.Tensor], device: str) -> str:
    if not torch.compiler.is_compiling() and (reason := context_refusal()):
        return reason
    if torch.is_autocast_enabled(device):
        return "autocast"
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        return "gradients"
    return ""


def _lookup(module: Any, path: Sequence[str]) -> Any:
    for part in path:
        module = getattr(module, part)
    return module


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        return one.shape == other.shape and one.dtype is other.dtype and torch.equal(one, other)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


def _reads_mode(kind: type) -> bool:
    """Whether a class of modules looks at `training`, as dropout and batch norm do."""
    for one in kind.__mro__:
        if one is nn.Module:
            return False
        for member in vars(one).values():
            code = getattr(member, "__code__", None)
            if code is not None and "training" in code.co_names:
                return True
    return False
