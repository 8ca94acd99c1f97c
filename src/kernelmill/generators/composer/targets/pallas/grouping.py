"""Grouping of tensors into kernels."""

from collections.abc import Sequence

from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.pallas.blocks import Blocks, Unfit, cut
from kernelmill.generators.composer.targets.pallas.tensors import (
    Broadcast,
    Convolution,
    Flip,
    Fold,
    Kept,
    Number,
    Permute,
    Phased,
    Pool,
    Product,
    Reshape,
    Scan,
    Stored,
    Tensor,
    View,
    walk,
)


class Grouping:
    """Kernels grow from the inputs on, as long as what they hold fits.

    A view of something in memory is left to the host.
    """

    def __init__(self, outputs: Sequence[Tensor], plan: Plan) -> None:
        self._plan = plan
        self._outputs = outputs
        self._all = walk(outputs)
        self._users: dict[int, list[Tensor]] = {}
        for tensor in self._all:
            for source in tensor.inputs:
                self._users.setdefault(id(source), []).append(tensor)
        self._group: dict[int, int] = {}
        """The kernel of a tensor by its identity; none for what the host has."""
        self._members: dict[int, list[Tensor]] = {}

    def run(self) -> list[Blocks]:
        for tensor in self._all:
            if not self._is_host(tensor):
                self._place(tensor)
        return [self._cut(self._members[number]) for number in self._sorted()]

    def _is_host(self, tensor: Tensor) -> bool:
        if isinstance(tensor, Stored | Number | Phased | Flip):
            return True
        if isinstance(tensor, Reshape | Broadcast):
            source = tensor.inputs[0]
            users = self._users.get(id(tensor), [])
            if isinstance(tensor, Broadcast) and not (
                users and all(isinstance(user, Reshape) for user in users)
            ):
                return False
            return id(source) not in self._group and not isinstance(source, Number)
        if isinstance(tensor, Permute):
            return id(tensor.inputs[0]) not in self._group and not self._turned_in_kernel(tensor)
        return False

    def _turned_in_kernel(self, tensor: Permute) -> bool:
        users = self._users.get(id(tensor), [])
        rank = len(tensor.order)
        swapped = tensor.order == (*range(rank - 2), rank - 1, rank - 2)
        multiplied = users and all(isinstance(user, Product) for user in users)
        return bool(swapped and multiplied and self._plan.turn == "kernel")

    def _place(self, tensor: Tensor) -> None:
        near = sorted({self._group[id(s)] for s in tensor.inputs if id(s) in self._group})
        for joined in self._attempts(tensor, near):
            if self._try(tensor, joined):
                return
        if isinstance(tensor, View) and id(tensor.inputs[0]) in self._group:
            return  # the host's, of what is stored
        self._try(tensor, [])

    def _attempts(self, tensor: Tensor, near: list[int]) -> list[list[int]]:
        if self._plan.fuse == "none" and not isinstance(tensor, View | Broadcast):
            return []
        if isinstance(tensor, Kept) or (
            isinstance(tensor, Reshape) and self._only_returned(tensor)
        ):
            return []
        return [near, *([group] for group in reversed(near) if len(near) > 1)] if near else []

    def _only_returned(self, tensor: Tensor) -> bool:
        return not self._users.get(id(tensor))

    def _try(self, tensor: Tensor, joined: list[int]) -> bool:
        members = [t for t in self._all if self._group.get(id(t)) in joined] if joined else []
        members = [*members, tensor]
        if joined and self._plan.fuse == "single" and sum(map(_is_heavy, members)) > 1:
            return False
        if joined and self._goes_round(joined, tensor):
            return False
        try:
            self._cut(members)
        except Unfit:
            return False
        number = joined[0] if joined else max(self._members, default=-1) + 1
        for group in joined[1:]:
            del self._members[group]
        self._members[number] = members
        for member in members:
            self._group[id(member)] = number
        return True

    def _cut(self, members: Sequence[Tensor]) -> Blocks:
        inside = {id(member) for member in members}
        ordered = [tensor for tensor in self._all if id(tensor) in inside]
        inputs: dict[int, Tensor] = {}
        for member in ordered:
            for source in member.inputs:
                if id(source) not in inside and not isinstance(source, Number):
                    inputs[id(source)] = source
        returned = {id(output) for output in self._outputs}
        stored = [
            tensor
            for tensor in ordered
            if id(tensor) in returned
            or any(id(user) not in inside for user in self._users.get(id(tensor), []))
        ]
        outputs = stored or ordered[-1:]
        return cut(ordered, list(inputs.values()), outputs, self._plan)

    def _goes_round(self, joined: list[int], tensor: Tensor) -> bool:
        """Whether something outside needs one of the kernels and is needed by another."""
        outside = [
            source
            for group in joined
            for member in self._members[group]
            for source in member.inputs
            if self._group.get(id(source)) not in joined
        ]
        outside += [s for s in tensor.inputs if self._group.get(id(s)) not in joined]
        return any(self._needs(source, set(joined)) for source in outside)

    def _needs(self, tensor: Tensor, groups: set[int]) -> bool:
        """Whether a tensor's kernel runs after one of these."""
        waiting, seen = [tensor], set()
        while waiting:
            here = waiting.pop()
            if id(here) in seen:
                continue
            seen.add(id(here))
            group = self._group.get(id(here))
            if group in groups:
                return True
            waiting += here.inputs
            if group is not None:
                waiting += [s for member in self._members[group] for s in member.inputs]
        return False

    def _sorted(self) -> list[int]:
        """The kernels in an order in which they can run."""
        left, found = dict(self._members), list[int]()
        while left:
            ready = next(
                number
                for number, members in left.items()
                if not any(
                    self._needs(source, set(left) - {number})
                    for member in members
                    for source in member.inputs
                    if self._group.get(id(source)) != number
                )
            )
            found.append(ready)
            del left[ready]
        return found


def _is_heavy(tensor: Tensor) -> bool:
    return isinstance(tensor, Product | Convolution | Fold | Scan | Pool)
