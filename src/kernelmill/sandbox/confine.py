"""Confinement of the calling process: namespaces, mounts, resource limits, Landlock, seccomp."""

import os
import resource
import signal
import sys

from kernelmill.sandbox import landlock, seccomp, syscalls
from kernelmill.sandbox.landlock import PathRule
from kernelmill.sandbox.policy import Policy, ResourceLimits, Tier
from kernelmill.sandbox.seccomp import SyscallGrants

_SCRATCH_MOUNT_POINTS = ("/dev/shm", "/mnt", "/media", "/srv", "/tmp")
_PROGRAMS = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")
"""Programs, libraries and headers of the distribution."""
_LOADER_FILES = ("/etc/ld.so.cache", "/etc/ld.so.conf")
_LOADER_FOLDER = "/etc/ld.so.conf.d"
"""All that the loader and the linker read of the system's configuration: where libraries are."""
OWN_FOLDER = "/proc/self"
"""GPU drivers write thread names below it, and do not start where they cannot."""
_FACTS = (
    OWN_FOLDER, "/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage",
)  # fmt: skip
"""What C libraries, OpenMP and frameworks ask about processors, memory and their own process."""
_DRIVER_PATHS = ("/proc", "/sys", "/etc/nvidia")
"""What a GPU's driver reads besides."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


def python_paths() -> tuple[str, ...]:
    """Folders of Python and its packages, which a sandbox must be able to read."""
    roots = {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix), sys.prefix}
    roots |= {path for path in sys.path if os.path.basename(path) in _PACKAGE_FOLDERS}
    return tuple(sorted(roots))


_PACKAGE_FOLDERS = ("site-packages", "dist-packages")


def readable_paths(policy: Policy) -> tuple[str, ...]:
    """What every sandbox may read: programs, Python, and single facts about the machine.

    Nothing of the system's configuration beyond the loader's, of other processes, or of people's
    folders is among it.
    """
    loader = (*_LOADER_FILES, *(entry.path for entry in _entries(_LOADER_FOLDER)))
    drivers = _DRIVER_PATHS if policy.devices else ()
    return (*_PROGRAMS, *loader, *_FACTS, *drivers, *python_paths())


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def enter_namespaces() -> None:
    """Enter new namespaces; the next fork is process 1 of the pid namespace."""
    user, group = os.geteuid(), os.getegid()
    syscalls.unshare(
        syscalls.CLONE_NEWUSER
        | syscalls.CLONE_NEWNS
        | syscalls.CLONE_NEWPID
        | syscalls.CLONE_NEWNET
        | syscalls.CLONE_NEWIPC
        | syscalls.CLONE_NEWUTS
    )
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def mount_private_filesystems(policy: Policy) -> str:
    """Mount a private /proc and a scratch tmpfs; returns the path of the scratch folder."""
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE, None)
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("proc", "/proc", "proc", flags, None)
    needed = (*python_paths(), *policy.reading)
    for point in _SCRATCH_MOUNT_POINTS:
        if os.path.isdir(point) and not any(path.startswith(point + "/") for path in needed):
            options = f"size={policy.limits.scratch_bytes},mode=700"
            syscalls.mount("tmpfs", point, "tmpfs", flags, options)
            return point
    points = ", ".join(_SCRATCH_MOUNT_POINTS)
    raise OSError(f"no folder to mount a scratch tmpfs on: tried {points}")


_FORKING_HEADROOM = 4
"""The kernel refuses forks only at this multiple of the limit, so that the supervisor sees the
excess and reports it."""


def apply_limits(limits: ResourceLimits, address_space: bool, in_namespaces: bool) -> None:
    """Set resource limits; the number of processes only in namespaces.

    Outside of them the kernel counts all processes of this user.
    """
    processes = limits.processes * _FORKING_HEADROOM if in_namespaces else resource.RLIM_INFINITY
    space = _address_space() + limits.memory_bytes
    for kind, amount in (
        (resource.RLIMIT_AS, space if address_space else resource.RLIM_INFINITY),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(limits.lifetime_seconds * (os.cpu_count() or 1)) + 1),
        (resource.RLIMIT_NOFILE, 1024),
    ):
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            amount = hard if amount == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(kind, (amount, amount))


def _address_space() -> int:
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[0]) * resource.getpagesize()


def make_read_only(folder: str, writing: tuple[str, ...] = ()) -> None:
    """Give up writing to the scratch folder, except to `writing`; `folder` stays readable.

    What was not readable before stays so: rules of Landlock add up.
    """
    if landlock.abi():
        landlock.restrict_files(
            [PathRule(path, write=False) for path in ("/", folder)]
            + [PathRule(path, write=True) for path in (*_DEVICES, *writing)]
        )


def confine(policy: Policy, scratch: str) -> None:
    """Give up, irrevocably, everything the policy does not grant."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    apply_limits(
        policy.limits,
        address_space=not policy.devices,
        in_namespaces=policy.tier >= Tier.FULL,
    )
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.drop_capabilities()
    if policy.tier < Tier.PARTIAL:
        return
    reading = (*readable_paths(policy), *policy.reading)
    devices = (*policy.devices, OWN_FOLDER) if policy.devices else ()
    landlock.restrict_files(
        [PathRule(path, write=False) for path in reading]
        + [PathRule(path, write=True) for path in (*_DEVICES, *devices, scratch)]
    )
    seccomp.restrict_syscalls(
        SyscallGrants(
            programs=policy.may_execute,
            local_sockets=bool(policy.devices),
            traces=not policy.forked,
        )
    )
