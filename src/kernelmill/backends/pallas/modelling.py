"""From what the compiler says of a program to what one call of it takes."""

from kernelmill.backends.modelled import Estimate
from kernelmill.backends.pallas.chips import Chip
from kernelmill.backends.pallas.protocol import Compiled, UnitUse

MODEL = "libtpu 0.0.42.1, static LLO profile, and HBM bandwidth"
_MIB = 1 << 20
_SHOWN = 3


def model(compiled: Compiled, chip: Chip) -> Estimate:
    """The longer of computing and moving: the profile does not count contention for memory."""
    moving = compiled.bytes / chip.bytes_per_second
    cycles = sum(use.cycles for use in compiled.operations) or moving * chip.hertz
    seconds = max(cycles / chip.hertz, moving)
    return Estimate(
        milliseconds=1e3 * seconds,
        cycles=cycles,
        bytes=compiled.bytes,
        model=MODEL,
        units=_units(compiled.operations),
        notes=tuple(_notes(compiled, chip, cycles)),
    )


def _units(operations: list[UnitUse]) -> dict[str, float]:
    """Of every unit the share of its slots that are filled, operations by their cycles."""
    weighed: dict[str, float] = {}
    total = sum(use.cycles for use in operations if use.shares) or 1
    for use in operations:
        for unit, share in use.shares.items():
            weighed[unit] = weighed.get(unit, 0.0) + share * use.cycles / total
    return dict(sorted(weighed.items(), key=lambda item: -item[1]))


def _notes(compiled: Compiled, chip: Chip, cycles: float) -> list[str]:
    moving = compiled.bytes / chip.bytes_per_second
    bound = "moving data" if moving > cycles / chip.hertz else "the core"
    notes = [
        f"bound by {bound}: {cycles:.0f} cycles are {1e6 * cycles / chip.hertz:.1f} us, "
        f"{compiled.bytes / _MIB:.2f} MiB of HBM traffic {1e6 * moving:.1f} us"
    ]
    for name, sizes in compiled.grids.items():
        steps = 1
        for size in sizes:
            steps *= size
        shape = "x".join(map(str, sizes)) or "none"
        notes.append(f"{name}: grid {shape}, {steps} steps")
    if compiled.loops:
        notes.append(f"{compiled.loops} loops outside kernels, whose bodies are counted once")
    for use in compiled.operations[:_SHOWN]:
        text = f"{use.name}: {use.cycles} cycles, {use.bundles} bundles"
        if use.vmem_bytes:
            text += f", {use.vmem_bytes / _MIB:.2f} of {chip.vmem_bytes / _MIB:.0f} MiB VMEM"
        notes.append(text)
    return notes
