"""Snapshots of modules: what a forward may depend on beside arguments, parameters and buffers."""

import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad
from torch.nn.modules import module as module_internals

_SCALARS = (int, float, complex, bool, str, bytes, type(None), torch.dtype, torch.device)
_CONTAINERS = (list, tuple, dict, set)
_DEEPEST = 8
_MISSING = object()
_StatePlace = tuple[int, str]
"""Number of a module, and the name of a parameter or buffer of its own."""


class _Part(NamedTuple):
    """One module within the whole; the first is the whole."""

    owner: int
    name: str
    kind: type
    training: bool
    values: tuple[tuple[str, Any], ...]
    """Attributes that are what they were if they are the same object or an equal scalar."""
    contents: tuple[tuple[str, "_Contents"], ...]
    """Attributes that are containers, with the elements they had."""
    state: tuple[tuple[str, bool], ...]
    """Names of parameters and buffers, and whether they are None."""
    forward: Any
    """Its class's forward; None where that cannot be compared."""


class _Contents(NamedTuple):
    """A container as it was. Containers within are contents themselves."""

    kind: type
    elements: tuple[Any, ...]


class ModuleSnapshot:
    """Classes, attributes, training modes and hooks of a module and its submodules.

    A deep copy made with the memo of the module's own copy describes that copy.
    """

    def __init__(self, module: nn.Module, ignored: str = "", mode_matters: bool = True) -> None:
        """Attributes whose names begin with `ignored` are not looked at."""
        self._mode_matters = mode_matters
        parts: list[_Part] = [_describe(0, "", module, ignored)]
        modules = [module]
        for owner, one in enumerate(modules):
            for name, part in one._modules.items():
                if part is not None:
                    parts.append(_describe(owner, name, part, ignored))
                    modules.append(part)
        self._parts = tuple(parts)
        self._ties = _find_ties(modules)

    def difference(self, module: nn.Module) -> str:
        """In what a module is no longer as it was; empty where it is."""
        modules: list[nn.Module] = []
        for owner, name, kind, training, values, contents, state, forward in self._parts:
            part = modules[owner]._modules.get(name) if modules else module
            if part is None or (modules and part.__class__ is not kind):
                return "other submodules"
            if modules and "forward" in part.__dict__:
                return "other submodules"
            if forward is not None and getattr(kind, "forward", None) is not forward:
                return "another forward"
            if self._mode_matters and part.training is not training:
                return "other training mode"
            if modules and (part._forward_hooks or part._forward_pre_hooks):
                return "hooks"
            if changed := _changed(part, values, contents):
                return f"other attributes ({changed})"
            for leaf, absent in state:
                if (_state(part, leaf) is None) is not absent:
                    return "other state"
            modules.append(part)
        for (first, leaf), *others in self._ties:
            tensor = _state(modules[first], leaf)
            if any(_state(modules[number], name) is not tensor for number, name in others):
                return "other state"
        return ""


class UnchangedTensor:
    """A tensor that still has its values; so do copies that are made while it does."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.__setstate__((tensor, not tensor.is_inference()))

    def is_still(self, tensor: torch.Tensor | None) -> bool:
        return tensor is self._tensor and tensor._version == self._version

    def __getstate__(self) -> tuple[torch.Tensor, bool]:
        return self._tensor, self._version >= 0 and self.is_still(self._tensor)

    def __setstate__(self, state: tuple[torch.Tensor, bool]) -> None:
        self._tensor, unchanged = state
        self._version = self._tensor._version if unchanged else -1


def context_refusal() -> str:
    """Why nothing but plain PyTorch code may answer here; empty where a kernel may."""
    if torch._C._get_tracing_state() is not None:
        return "tracing"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "a function transform"
    if forward_ad._current_level >= 0:
        return "gradients"
    if module_internals._global_forward_hooks or module_internals._global_forward_pre_hooks:
        return "hooks"
    return mode_refusal()


def mode_refusal() -> str:
    """Why a mode must see PyTorch's own calls; torch's own modes do not change what they see."""
    for number in range(torch._C._len_torch_function_stack()):
        mode = torch._C._get_function_stack_at(number)
        if not type(mode).__module__.startswith("torch."):
            return "a function mode"
    for number in range(torch._C._len_torch_dispatch_stack()):
        if not torch._C._get_dispatch_stack_at(number).is_infra_mode():
            return "a dispatch mode"
    return ""


def is_plain(tensor: Any) -> bool:
    """Whether a value is a dense tensor of torch's own class, whose memory a kernel may read."""
    kind = type(tensor)
    own = kind is torch.Tensor or kind is nn.Parameter
    if not own and not (torch.compiler.is_compiling() and isinstance(tensor, FakeTensor)):
        return False
    return tensor.layout is torch.strided and not tensor.is_nested


def _describe(owner: int, name: str, part: nn.Module, ignored: str) -> _Part:
    values: list[tuple[str, Any]] = []
    contents: list[tuple[str, _Contents]] = []
    for key, value in _attributes(part):
        if (ignored and key.startswith(ignored)) or _points_to_state(value):
            continue
        if isinstance(value, _CONTAINERS):
            contents.append((key, _contents_of(value)))
        else:
            values.append((key, value))
    state = tuple((leaf, one is None) for leaf, one in _all_state(part))
    kind, mode = type(part), part.training
    forward = getattr(kind, "forward", None)
    if forward is not getattr(kind, "forward", None):
        forward = None  # a descriptor that makes a new one each time
    return _Part(owner, name, kind, mode, tuple(values), tuple(contents), state, forward)


def _find_ties(modules: Sequence[nn.Module]) -> tuple[tuple[_StatePlace, ...], ...]:
    """Places that hold the same parameter or buffer, of which a trace knows one only."""
    places: dict[int, list[_StatePlace]] = {}
    for number, part in enumerate(modules):
        for leaf, tensor in _all_state(part):
            if tensor is not None:
                places.setdefault(id(tensor), []).append((number, leaf))
    return tuple(tuple(found) for found in places.values() if len(found) > 1)


def _attributes(part: nn.Module) -> Iterator[tuple[str, Any]]:
    own = part.__dict__
    for key, value in own.items():
        if key not in _BASE:
            yield key, value
    for kind in type(part).__mro__:
        if kind is nn.Module:
            break
        for key, value in vars(kind).items():
            if isinstance(value, _SCALARS) and not key.startswith("__") and key not in own:
                yield key, getattr(part, key)


def _all_state(part: nn.Module) -> Iterator[tuple[str, Any]]:
    yield from part._parameters.items()
    yield from part._buffers.items()


def _state(part: nn.Module, name: str) -> Any:
    found = part._parameters.get(name)
    return part._buffers.get(name) if found is None else found


def _changed(
    part: nn.Module,
    values: tuple[tuple[str, Any], ...],
    contents: tuple[tuple[str, _Contents], ...],
) -> str:
    """The name of an attribute that is not what it was."""
    for key, value in values:
        found = getattr(part, key, _MISSING)
        if found is not value and not _equal(found, value):
            return key
    for key, wanted in contents:
        if not _holds(getattr(part, key, _MISSING), wanted):
            return key
    return ""


def _holds(container: Any, wanted: _Contents) -> bool:
    if type(container) is not wanted.kind:
        return False
    elements = _elements(container)
    if len(elements) != len(wanted.elements):
        return False
    for one, other in zip(elements, wanted.elements, strict=True):
        if type(other) is _Contents:
            if not _holds(one, other):
                return False
        elif one is not other and not _equal(one, other):
            return False
    return True


def _equal(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    return (isinstance(one, _SCALARS) and one == other) or _points_to_state(other)


def _contents_of(container: Any, depth: int = 0) -> _Contents:
    """What is nested too deeply, or in itself, is compared by identity."""
    elements = tuple(
        _contents_of(one, depth + 1) if isinstance(one, _CONTAINERS) and depth < _DEEPEST else one
        for one in _elements(container)
    )
    return _Contents(type(container), elements)


def _elements(container: Any) -> tuple[Any, ...]:
    if isinstance(container, dict):
        return (*container.keys(), *container.values())
    return tuple(container)


def _points_to_state(value: Any) -> bool:
    return isinstance(value, nn.Parameter | weakref.ref)


_BASE = frozenset(nn.Module().__dict__)
