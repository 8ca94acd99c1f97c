"""Reduction of a task's sizes for emulated targets. Used inside sandboxes only."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

OPERATION_LIMITS = {"npu": 1 << 25, "emulated": 1 << 23}
"""Most operations per call of a reference, for scales whose sizes a task need not declare.

A verdict needs a dozen calls; a simulator of a whole chip works on blocks, an emulator on single
elements."""
_OPERATIONS_PER_ELEMENT = 32
"""Operations counted per element outside of contractions: upper estimate, for an exponential."""
_LEAST_SIZE = 2
_GATHERS = ("index", "embedding", "_embedding", "gather", "take")
"""Operators that read only some elements of their inputs."""


class OperationCounter(TorchDispatchMode):
    """Counts operations; on the framework's `meta` device nothing is computed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0
        self.most_bytes = 0
        """Memory of what a single operator reads and writes."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func.namespace == "prim":  # a fake tensor asks for its device
            return result
        self.most_bytes = max(self.most_bytes, _stored_bytes((args, kwargs, result)))
        count = flop_registry.get(func.overloadpacket)
        if count is not None:
            self.operations += int(count(*args, **(kwargs or {}), out_val=result))
        elif not func.is_view:
            gathers = func.__name__.startswith(_GATHERS)
            sizes = [_elements(result), 0 if gathers else _elements(args)]
            self.operations += _OPERATIONS_PER_ELEMENT * max(sizes)
        return result


def _elements(value: Any) -> int:
    """Number of elements of the largest tensor in a value."""
    leaves = tree_leaves(value)
    return max((leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor)), default=0)


def _stored_bytes(value: Any) -> int:
    leaves = [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]
    return sum({t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in leaves}.values())


def fit(
    sizes: dict[str, int], most: int, work: Callable[[dict[str, int]], int | None]
) -> dict[str, int]:
    """New values for some sizes: the largest is halved until `work` is at most `most`.

    `work` counts the operations with given sizes; None where the task does not allow them.
    """
    fitted, fixed = dict(sizes), set[str]()
    needed = work(fitted)
    while needed is not None and needed > most:
        free = [name for name in fitted if name not in fixed and fitted[name] > _LEAST_SIZE]
        if not free:
            break
        name = max(free, key=lambda name: fitted[name])
        halved = fitted | {name: -(-fitted[name] // 2)}
        less = work(halved)
        if less is None:
            fixed.add(name)
        else:
            fitted, needed = halved, less
    return {name: size for name, size in fitted.items() if size != sizes[name]}
