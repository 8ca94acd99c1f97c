"""The calls that a kernel was proven for, as its operator reads them from `kernel.json`."""

from collections.abc import Sequence

import msgspec

from kernelmill.deploy.champions import Champion
from kernelmill.records.candidate import Origin
from kernelmill.records.task import TensorSpec, Variant
from kernelmill.records.tensors import Node

_ANY_SIZE = (1, 2**62)
_Place = tuple[int, int]
"""A tensor of the inputs and an axis of it."""


class TensorGuard(msgspec.Struct, frozen=True):
    """What a tensor must be: its type, and the least and greatest size of each axis."""

    dtype: str
    sizes: tuple[tuple[int, int], ...]
    name: str = ""
    """Name in the state dict, if it is state."""


class KernelSpec(msgspec.Struct, frozen=True):
    name: str
    """Name of the operator."""
    task: str
    scale: str
    inputs: Node
    tensors: tuple[TensorGuard, ...]
    equal: tuple[tuple[_Place, ...], ...]
    """Axes that must have the same size."""
    state: tuple[TensorGuard, ...]
    outputs: int
    tolerance: float


def describe_kernel(champion: Champion, name: str, only_measured: bool = False) -> KernelSpec:
    """The guard of a champion.

    A composed kernel checks its sizes itself. Another one is held to the sizes that it was judged
    with: an axis that never varied is fixed, and axes that were always equal stay so. With
    `only_measured`, all sizes are those that were timed.
    """
    task = champion.task
    guarded = champion.candidate.origin is Origin.COMPOSER
    variants = (task.shown,) if only_measured else task.variants
    free = guarded and not only_measured
    equal = () if guarded or only_measured else _equal_axes(variants)
    return KernelSpec(
        name,
        champion.name,
        task.scale,
        task.shown.inputs,
        tuple(_guard([v.tensors[i] for v in variants], free) for i in _numbers(task.shown)),
        equal,
        tuple(_state_guard(name, spec) for name, spec in task.state.items()),
        len(task.outputs),
        task.tolerance,
    )


def _numbers(variant: Variant) -> range:
    return range(len(variant.tensors))


def _guard(specs: Sequence[TensorSpec], free: bool) -> TensorGuard:
    axes = list(zip(*(spec.shape for spec in specs), strict=True))
    sizes = tuple(_ANY_SIZE if free else (min(axis), max(axis)) for axis in axes)
    return TensorGuard(specs[0].dtype, sizes)


def _state_guard(name: str, spec: TensorSpec) -> TensorGuard:
    return TensorGuard(spec.dtype, tuple((size, size) for size in spec.shape), name)


def _equal_axes(variants: Sequence[Variant]) -> tuple[tuple[_Place, ...], ...]:
    """Axes that vary, grouped by their sizes over all variants."""
    groups: dict[tuple[int, ...], list[_Place]] = {}
    for number in _numbers(variants[0]):
        for axis in range(len(variants[0].tensors[number].shape)):
            sizes = tuple(variant.tensors[number].shape[axis] for variant in variants)
            if len(set(sizes)) > 1:
                groups.setdefault(sizes, []).append((number, axis))
    return tuple(tuple(places) for places in groups.values() if len(places) > 1)
