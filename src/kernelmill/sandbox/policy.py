"""Policy of a sandbox: its tier, limits and grants. Sent from the parent to the zygote as JSON."""

import enum

import msgspec

GIB = 1 << 30
MIB = 1 << 20


class Tier(enum.IntEnum):
    """How strongly a sandbox is confined; each tier includes the ones below it."""

    MINIMAL = 0
    """Resource limits, scrubbed environment, process-group kill."""
    PARTIAL = 1
    """Adds Landlock and seccomp: no files, no network, no foreign processes."""
    FULL = 2
    """Adds user, mount, pid, network and ipc namespaces and a private tmpfs."""

    def __str__(self) -> str:
        return self.name.lower()


class ResourceLimits(msgspec.Struct, frozen=True):
    memory_bytes: int = 8 * GIB
    """Resident memory of the whole sandbox, and its address space beyond the zygote's (unlimited in
    a sandbox with devices)."""
    processes: int = 256
    """Processes and threads together."""
    lifetime_seconds: float = 3600.0
    file_bytes: int = 1 * GIB
    """Size of the largest single file."""
    scratch_bytes: int = 2 * GIB
    """Size of the private tmpfs, where the tier has one."""
    log_bytes: int = 1 * MIB
    """Size of standard output and error together."""


class Policy(msgspec.Struct, frozen=True):
    limits: ResourceLimits = ResourceLimits()
    may_execute: bool = False
    """Whether the sandbox may fork and execute programs: builds need it, candidates do not."""
    forked: bool = False
    """Whether forks of it are wanted (`Sandbox.fork`) that can leave nothing behind for the next:
    system calls by which they could are refused."""
    devices: tuple[str, ...] = ()
    """Device files it may use beside /dev/null and the like. Drivers reserve far more address space
    than there is memory, so with any of them only resident memory is limited."""
    reading: tuple[str, ...] = ()
    """Folders it may read and execute from beside the system's and Python's, such as a tool
    chain's."""
    tier: Tier = Tier.FULL
