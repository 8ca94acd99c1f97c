"""Sizes for targets that are emulated: small enough, whatever the task. Used inside cells only."""

from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

EMULATED = "npu"
"""The scale whose sizes need not be declared: they are found."""
_MOST_OPERATIONS = 1 << 25
"""Of a reference's contractions: emulators execute some hundred million a second, and a verdict
needs a dozen calls."""
_OPERATIONS_PER_ELEMENT = 64
"""Of everything else: an exponential may take so many, and much of them is not contraction."""
_LEAST_SIZE = 4


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
        if not func.is_view:
            elements = sum(leaf.numel() for leaf in tree_leaves(result) if hasattr(leaf, "numel"))
            self.operations += _OPERATIONS_PER_ELEMENT * elements
        return result


def fit(sizes: dict[str, int], work: Callable[[dict[str, int]], int | None]) -> dict[str, int]:
    """Which sizes to replace, and by what: the greatest is halved until the work is little enough.

    `work` says how many operations there are with these sizes, or None where the task does not
    allow them.
    """
    fitted = dict(sizes)
    rigid: set[str] = set()
    while (needed := work(fitted)) is not None and needed > _MOST_OPERATIONS:
        soft = [name for name in fitted if name not in rigid and fitted[name] > _LEAST_SIZE]
        if not soft:
            break
        name = max(soft, key=lambda name: fitted[name])
        halved = fitted | {name: -(-fitted[name] // 2)}
        if work(halved) is None:
            rigid.add(name)
        else:
            fitted = halved
    return {name: size for name, size in fitted.items() if size != sizes[name]}
