"""The TPUs whose compiler needs no TPU, and what is public about them."""

from typing import NamedTuple


class Chip(NamedTuple):
    topology: str
    """As the compiler is asked for it."""
    accelerator: str
    """As the environment names it."""
    device_kind: str
    """As JAX names it."""
    hertz: float
    """Of the core: the cycles are of this clock."""
    bytes_per_second: float
    """Of the memory."""
    operations_per_second: float
    """In bfloat16, by the matrix units."""
    vmem_bytes: int
    cores: int
    """That share one program."""


_VMEM = 128 << 20
CHIPS = {
    "v5e": Chip("v5e:1x1", "v5litepod-1", "TPU v5 lite", 1.5e9, 819e9, 197e12, _VMEM, 1),
    "v6e": Chip("v6e:1x1", "v6e-1", "TPU v6 lite", 1.75e9, 1640e9, 918e12, _VMEM, 1),
    "v5p": Chip("v5p:1x1x1", "v5p-2", "TPU v5", 1.75e9, 2765e9, 459e12, _VMEM, 2),
}
"""Clocks follow from the published peak and the size of the matrix units."""
