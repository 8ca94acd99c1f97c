"""Fake tensors: sizes and types without storage. Used inside sandboxes only.

Tensors of a task may be larger than the memory of this machine. Where only their sizes matter,
none of them is allocated but the small ones, whose values a task's code may look at: lengths,
masks, tables.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_MOST_COMPUTED_BYTES = 1 << 20
"""Size of the largest results that are computed while large tensors are fake."""
_MOST_ALLOCATED_BYTES = 1 << 30
"""Size of the largest results of code that needs the values of large tensors, too."""


class UnknownValues(Exception):
    """The code depends on values of a tensor that has none."""


class TooLarge(Exception):
    """The code depends on values of a tensor that is not allocated for them."""


class FakeLargeTensors(TorchDispatchMode):
    """Computes small tensors, and of all others the sizes and types alone."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._fake = FakeTensorMode(allow_non_fake_inputs=True)
        self._stale: dict[int, torch.UntypedStorage] = {}
        """Storage of small tensors to which something without values was written, by address."""

    @property
    def has_lost_values(self) -> bool:
        """Whether something without values was written to a small tensor, whose own are stale."""
        return bool(self._stale)

    def forget_state(self, model: nn.Module) -> None:
        """Forget the values of small parameters and floating buffers as well: next to no code looks
        at them, and operators on both small and large tensors take long."""
        for module in model.modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    fake = self._without_values(parameter)
                    module._parameters[name] = nn.Parameter(fake, parameter.requires_grad)
            for name, buffer in module._buffers.items():
                if buffer is not None and buffer.is_floating_point():
                    module._buffers[name] = self._without_values(buffer)

    def _without_values(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor if isinstance(tensor, FakeTensor) else self._fake.from_tensor(tensor)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if not all(self._has_values(tensor) for tensor in _tensors((args, given))):
            self._forget(_written(func, args, given))
            return self._sizes(func, args, given)
        if _stays_small(func):
            return func(*args, **given)
        try:
            result = self._sizes(func, args, given)
        except UnknownValues:  # of small tensors, which have some
            return func(*args, **given)
        return func(*args, **given) if _bytes(result) <= _MOST_COMPUTED_BYTES else result

    def _has_values(self, tensor: torch.Tensor) -> bool:
        if isinstance(tensor, FakeTensor):
            return False
        return not self._stale or tensor.untyped_storage()._cdata not in self._stale

    def _forget(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            if not isinstance(tensor, FakeTensor):
                storage = tensor.untyped_storage()
                self._stale[storage._cdata] = storage

    def _sizes(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            with self._fake:
                return func(*args, **kwargs)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise UnknownValues(f"{func} needs the values of a large tensor") from error


class RefuseLargeTensors(TorchDispatchMode):
    """Computes every tensor, and raises TooLarge before a large one is allocated."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._fake = FakeTensorMode(allow_non_fake_inputs=True)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if not _stays_small(func):
            self._demand_small(func, args, given)
        return func(*args, **given)

    def _demand_small(self, func: Any, args: Any, kwargs: Any) -> None:
        try:
            with self._fake:
                size = _bytes(func(*args, **kwargs))
        except (DataDependentOutputException, DynamicOutputShapeException):
            return  # no larger than its inputs, which were allowed
        if size > _MOST_ALLOCATED_BYTES:
            raise TooLarge(
                f"its code looks at values, and computing them takes a tensor of {size >> 20} MiB"
            )


def _stays_small(func: Any) -> bool:
    """Whether an operator allocates nothing: it changes its inputs, or returns a part of them."""
    return bool(func._schema.is_mutable or func.is_view)


def _written(func: Any, args: Any, kwargs: Any) -> Iterable[torch.Tensor]:
    """The tensors that an operator changes."""
    targets = [
        args[number] if number < len(args) else kwargs.get(argument.name)
        for number, argument in enumerate(func._schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    ]
    return _tensors(targets)


@contextmanager
def without_storage() -> Iterator[FakeLargeTensors]:
    """Large tensors are fake within the context. Raises UnknownValues where their values matter."""
    replaces = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)  # data cannot be set
    try:
        with FakeLargeTensors() as mode:
            yield mode
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(replaces)


def _bytes(value: Any) -> int:
    return sum(tensor.nbytes for tensor in _tensors(value))


def _tensors(value: Any) -> Iterable[torch.Tensor]:
    return (leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor))
