"""Cost model of a compiled program: the time of one call from libtpu's profile and traffic."""

import math

from kernelmill.backends.modelled import Estimate
from kernelmill.backends.pallas.chips import Chip
from kernelmill.backends.pallas.protocol import CompiledKernel, OperationProfile

LIBTPU_MODEL = "libtpu 0.0.42.1, static LLO profile, and HBM bandwidth"
_MIB = 1 << 20
_SHOWN_OPERATIONS = 3


def estimate_call(compiled: CompiledKernel, chip: Chip) -> Estimate:
    """The longer of compute and memory time: the profile ignores contention for memory."""
    moving = compiled.bytes / chip.bytes_per_second
    cycles = sum(operation.cycles for operation in compiled.operations) or moving * chip.hertz
    seconds = max(cycles / chip.hertz, moving)
    return Estimate(
        milliseconds=1e3 * seconds,
        cycles=cycles,
        bytes=compiled.bytes,
        model=LIBTPU_MODEL,
        units=_units(compiled.operations),
        notes=tuple(_notes(compiled, chip, cycles)),
    )


def _units(operations: list[OperationProfile]) -> dict[str, float]:
    """Unit -> share of its slots that are filled, averaged over operations by their cycles."""
    weighted: dict[str, float] = {}
    total = sum(operation.cycles for operation in operations if operation.shares) or 1
    for operation in operations:
        for unit, share in operation.shares.items():
            weighted[unit] = weighted.get(unit, 0.0) + share * operation.cycles / total
    return dict(sorted(weighted.items(), key=lambda item: -item[1]))


def _notes(compiled: CompiledKernel, chip: Chip, cycles: float) -> list[str]:
    moving = compiled.bytes / chip.bytes_per_second
    bound = "moving data" if moving > cycles / chip.hertz else "the core"
    notes = [
        f"bound by {bound}: {cycles:.0f} cycles are {1e6 * cycles / chip.hertz:.1f} us, "
        f"{compiled.bytes / _MIB:.2f} MiB of HBM traffic {1e6 * moving:.1f} us"
    ]
    for name, sizes in compiled.grids.items():
        shape = "x".join(map(str, sizes)) or "none"
        notes.append(f"{name}: grid {shape}, {math.prod(sizes)} steps")
    if compiled.loops:
        notes.append(f"{compiled.loops} loops outside kernels, whose bodies are counted once")
    for operation in compiled.operations[:_SHOWN_OPERATIONS]:
        text = f"{operation.name}: {operation.cycles} cycles, {operation.bundles} bundles"
        if operation.vmem_bytes:
            text += f", {operation.vmem_bytes / _MIB:.2f} of {chip.vmem_bytes / _MIB:.0f} MiB VMEM"
        notes.append(text)
    return notes
