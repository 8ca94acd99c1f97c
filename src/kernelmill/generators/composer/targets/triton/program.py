"""A candidate in Triton: a kernel for every value that is stored."""

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import ClassVar

from kernelmill.generators.composer.bufferize import Bufferizer, reaches
from kernelmill.generators.composer.ir.expressions import Expression
from kernelmill.generators.composer.ir.graph import Extent, Graph
from kernelmill.generators.composer.ir.index import ZERO
from kernelmill.generators.composer.ir.values import (
    Apart,
    Attention,
    Buffer,
    Contract,
    Joined,
    Reduce,
    Unfit,
    Value,
)
from kernelmill.generators.composer.lowering.attention import in_products
from kernelmill.generators.composer.lowering.contractions import summed_products
from kernelmill.generators.composer.plan import Plan
from kernelmill.generators.composer.targets.triton.apart import emit_apart
from kernelmill.generators.composer.targets.triton.attention import WIDEST, emit_attention
from kernelmill.generators.composer.targets.triton.contraction import Contraction, Direct, Sums
from kernelmill.generators.composer.targets.triton.joins import (
    has_many_parts,
    longest_joined,
    starts_of,
)
from kernelmill.generators.composer.targets.triton.launch import Launch, padded
from kernelmill.generators.composer.targets.triton.model import Model
from kernelmill.generators.composer.targets.triton.plane_products import PlaneProducts
from kernelmill.generators.composer.targets.triton.planes import (
    BF16X6,
    TF32,
    Packed,
    Split,
    emit_planes,
    single_plane,
)
from kernelmill.generators.composer.targets.triton.recomputing import Recomputing
from kernelmill.generators.composer.targets.triton.rows import Long, Parts, Share, emit_nest
from kernelmill.generators.composer.targets.triton.scans import emit_scan, scan_under
from kernelmill.generators.composer.targets.triton.walk import Turned
from kernelmill.records.numerics import Numerics
from kernelmill.records.task import Task


class TritonProgram(Bufferizer):
    folds_places: ClassVar[bool] = True

    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.launches: list[Launch] = []
        self._turned = Turned()
        self._planes: dict[tuple[Hashable, ...], Buffer] = {}
        self._joined: dict[int, Buffer] = {}
        """Memory of joined values, by the longest that begins so."""
        self._placed: set[tuple[int, str, Expression]] = set()
        """Which parts lie in which memory, and where."""
        super().__init__(graph, plan)

    def files(self, task: Task) -> dict[str, str]:
        model = Model(
            self.graph, task, self.launches, self.outputs, self._scratch, self._numbers,
            bool(self._plan.specialise),
        )  # fmt: skip
        return {"model.py": model.text()}

    def _memory_for(self, value: Value) -> Buffer:
        """A value that others continue lies at the beginning of the longest of them."""
        if not isinstance(value, Joined) or not has_many_parts(value):
            return super()._memory_for(value)
        whole = self._longest_joined[id(value)]
        if id(whole) not in self._joined:
            self._joined[id(whole)] = super()._memory_for(whole)
        memory = self._joined[id(whole)]
        return memory if whole is value else memory.region(value.shape, value.axis, ZERO)

    def _emit(self, value: Value, target: Buffer) -> None:
        self._recomputing.demand_stored(value)
        self._emit_kernel(value, target)
        self._recomputing.note(value)

    def _emit_kernel(self, value: Value, target: Buffer) -> None:
        if isinstance(value, Joined) and has_many_parts(value):
            self._emit_joined(value, target)
            return
        if isinstance(value, Apart):
            self.launches += emit_apart(value, target, self._plan, self._stored)
            return
        if isinstance(value, Attention):
            self._emit_attention(value, target)
            return
        scan = scan_under(value, self._stored)
        if scan is not None:
            self.launches.append(emit_scan(scan, value, target, self._plan, self._stored))
            return
        contract = self._contract_under(value)
        if contract is not None and self._emit_contraction(contract, value, target):
            return
        while True:
            try:
                self.launches.append(emit_nest(value, target, self._plan, self._stored))
                return
            except Long as long:
                self._share(long.folds)

    def _emit_joined(self, value: Joined, target: Buffer) -> None:
        """Every part in its place, most of them by the kernel that computes them."""
        if self._longest_joined[id(value)] is value:
            self._joined.setdefault(id(value), target)
        for part, start in zip(value.inputs, starts_of(value), strict=True):
            key = id(part), target.name, start
            if key in self._placed:
                continue
            place = target.region(part.shape, value.axis, start)
            if self._unstored(part):
                self._store(part, place)
            else:
                self.launches.append(emit_nest(part, place, self._plan, self._stored))
            self._placed.add(key)

    @cached_property
    def _recomputing(self) -> Recomputing:
        return Recomputing(self._shared, self._stored)

    @cached_property
    def _longest_joined(self) -> dict[int, Joined]:
        return longest_joined(self._results)

    def _emit_attention(self, value: Attention, target: Buffer) -> None:
        if max(padded(value.inputs[0].shape[3]), padded(value.shape[3])) > WIDEST:
            self._store(in_products(value), target)
        else:
            precision = self._plan.precision
            if precision == "auto":
                # Halves fit into TF32, which keeps more of the weights than they would.
                precision = "bf16x6" if self._coarsest(False) is BF16X6 else "tf32"
            launch = emit_attention(value, target, self._plan, precision, self._stored)
            self.launches.append(launch)

    def _contraction(self, contract: Contract) -> Contraction:
        precision = self._plan.precision
        if precision == "auto":
            split = self._coarsest(contract.form.window is not None)
        elif precision == "bf16x6":
            split = BF16X6
        else:
            return Direct(contract, self._plan, precision, self._stored, self._turned)
        return PlaneProducts(contract, self._plan, self._stored, split, self._pack)

    def _coarsest(self, is_convolution: bool) -> Split:
        """The coarsest planes whose products the types and the numerics of the task allow."""
        if self.graph.half:
            return single_plane(self.graph.half)
        numerics = self._plan.numerics
        if numerics.rounds_products or (is_convolution and numerics.rounds_convolutions):
            return single_plane("float16") if numerics is Numerics.HALF else TF32
        return BF16X6

    def _pack(self, packed: Packed, split: Split) -> Buffer:
        """An operand in planes, stored once however many contractions want it."""
        key = (*packed.key, split)
        if key not in self._planes:
            shape = [Extent(str(split.planes), split.planes), *packed.value.shape]
            self._recomputing.demand_stored(packed.value)
            target = Buffer(f"stored_{len(self._scratch)}", shape, split.dtype)
            self.launches.append(emit_planes(packed, split, target, self._plan, self._stored))
            self._recomputing.note(packed.value)
            self._scratch.append(target)
            self._keep.append(packed.value)
            self._planes[key] = target
        return self._planes[key]

    def _share(self, folds: Sequence[Reduce]) -> None:
        """Have several programs fold a part of every row each; who needs the results joins them."""
        share = Share(folds, self._plan, self._stored)
        parts = Extent(str(share.parts), share.parts)
        targets = [
            [self._scratch_of([parts, *fold.shape], state.dtype) for state in share.states(fold)]
            for fold in folds
        ]
        self.launches.append(share.launch(targets))
        for fold, buffers in zip(folds, targets, strict=True):
            self._stand_in(fold, Parts(fold, buffers))

    def _emit_contraction(self, contract: Contract, value: Value, target: Buffer) -> bool:
        """Whether the value is stored with it; if not, something stands for the contraction."""
        form = contract.form
        if id(contract) in self._stored:
            return False
        if form.window is None and "1" in (form.rows.code, form.columns.code):
            left, right = contract.inputs
            self._stand_in(contract, summed_products(left, right, contract.shape))
            return False
        contraction = self._contraction(contract)
        split = contraction.split
        try:
            if split == 1:
                self.launches.append(contraction.launch(value, target))
                return True
            sums = Sums(f"stored_{len(self._scratch)}", contract, split)
            self.launches.append(contraction.launch(contract, sums.whole, split))
        except Unfit as unfit:
            # A fold of the contraction's own sums has to wait for all of them.
            raise Unfit(contract) if reaches(unfit.value, contract) else unfit from unfit
        self._scratch.append(sums.whole)
        self._stand_in(contract, sums)
        return False
