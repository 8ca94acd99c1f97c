"""What a confined process may do. Travels from the parent to the zygote as JSON."""

import enum

import msgspec

GIB = 1 << 30
MIB = 1 << 20


class Tier(enum.IntEnum):
    """How strongly a cell is confined; each tier includes the ones below it."""

    MINIMAL = 0
    """Limits, scrubbed environment, process-group kill."""
    PARTIAL = 1
    """Adds Landlock and seccomp: no files, no network, no foreign processes."""
    FULL = 2
    """Adds user, mount, pid, network and ipc namespaces and a private tmpfs."""

    def __str__(self) -> str:
        return self.name.lower()


class Limits(msgspec.Struct, frozen=True):
    memory_bytes: int = 8 * GIB
    """Resident memory of the whole cell, and address space beyond what the zygote has (a cell with
    devices of its own may reserve as much as it likes)."""
    processes: int = 256
    """Processes and threads together."""
    lifetime_seconds: float = 3600.0
    file_bytes: int = 1 * GIB
    """Largest single file."""
    scratch_bytes: int = 2 * GIB
    """The private tmpfs, where the tier has one."""
    log_bytes: int = 1 * MIB
    """Standard output and error together."""


class Policy(msgspec.Struct, frozen=True):
    limits: Limits = Limits()
    may_execute: bool = False
    """Whether the cell may fork and execute programs: builds need it, candidates do not."""
    devices: tuple[str, ...] = ()
    """Device files it may use beside the harmless ones. Drivers reserve far more address space than
    there is memory, so with any of them only what is resident is limited."""
    reading: tuple[str, ...] = ()
    """Folders it may read and execute from beside the system's and Python's: a tool chain's."""
    tier: Tier = Tier.FULL
