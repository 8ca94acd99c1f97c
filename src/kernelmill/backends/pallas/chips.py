"""The TPUs that libtpu compiles for without a TPU, and their published figures."""

from typing import NamedTuple


class Chip(NamedTuple):
    topology: str
    """The topology name that the compiler takes."""
    accelerator: str
    """The accelerator type for the environment variable of libtpu."""
    device_kind: str
    """The name that JAX gives the device."""
    hertz: float
    """Clock rate of the core."""
    bytes_per_second: float
    """Bandwidth of HBM."""
    operations_per_second: float
    """Peak of the matrix units in bfloat16."""
    vmem_bytes: int
    cores: int
    """Cores that share one program."""


_VMEM = 128 << 20
CHIPS = {
    "v5e": Chip("v5e:1x1", "v5litepod-1", "TPU v5 lite", 1.5e9, 819e9, 197e12, _VMEM, 1),
    "v6e": Chip("v6e:1x1", "v6e-1", "TPU v6 lite", 1.75e9, 1640e9, 918e12, _VMEM, 1),
    "v5p": Chip("v5p:1x1x1", "v5p-2", "TPU v5", 1.75e9, 2765e9, 459e12, _VMEM, 2),
}
"""Clock rates follow from the published peak and the size of the matrix units."""
