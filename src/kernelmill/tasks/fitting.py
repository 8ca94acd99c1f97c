"""Sizes for targets that are emulated: small enough, whatever the task. Used inside cells only."""

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

FITTED = {"npu": 1 << 25, "emulated": 1 << 23}
"""Scales whose sizes need not be declared: so many operations a reference may take. A verdict needs
a dozen calls; simulators of whole chips work in blocks, emulators on every element."""
_OPERATIONS_PER_ELEMENT = 32
"""Of all that is not contraction: an exponential may take so many, and most take fewer."""
_LEAST_SIZE = 2
_PICKING = ("index", "embedding", "_embedding", "gather", "take")
"""Operators that read only some of what they are given."""


class WorkLog(TorchDispatchMode):
    """How much there is to compute; on the framework's `meta` device nothing is."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        count = flop_registry.get(func.overloadpacket)
        if count is not None:
            self.operations += int(count(*args, **(kwargs or {}), out_val=result))
        elif not func.is_view:
            picks = func.__name__.startswith(_PICKING)
            sizes = [_elements(result), 0 if picks else _elements(args)]
            self.operations += _OPERATIONS_PER_ELEMENT * max(sizes)
        return result


def _elements(value: Any) -> int:
    """Of the greatest tensor in it."""
    leaves = tree_leaves(value)
    return max((leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor)), default=0)


def fit(
    sizes: dict[str, int], most: int, work: Callable[[dict[str, int]], int | None]
) -> dict[str, int]:
    """Which sizes to replace, and by what: the greatest is halved until the work is little enough.

    `work` says how many operations there are with these sizes, or None where the task does not
    allow them.
    """
    fitted, rigid = dict(sizes), set[str]()
    needed = work(fitted)
    while needed is not None and needed > most:
        soft = [name for name in fitted if name not in rigid and fitted[name] > _LEAST_SIZE]
        if not soft:
            break
        name = max(soft, key=lambda name: fitted[name])
        halved = fitted | {name: -(-fitted[name] // 2)}
        less = work(halved)
        if less is None:
            rigid.add(name)
        else:
            fitted, needed = halved, less
    return {name: size for name, size in fitted.items() if size != sizes[name]}
