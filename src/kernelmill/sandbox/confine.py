"""What a process does to itself before it runs code nobody trusts."""

import os
import resource
import signal
import sys

from kernelmill.sandbox import landlock, seccomp, syscalls
from kernelmill.sandbox.landlock import PathRule
from kernelmill.sandbox.policy import Limits, Policy, Tier

_SCRATCH_MOUNT_POINTS = ("/dev/shm", "/mnt", "/media", "/srv", "/tmp")
_SYSTEM_PATHS = ("/usr", "/lib", "/lib64", "/bin", "/etc", "/opt", "/sys", "/proc")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
OWN_FOLDER = "/proc/self"
"""Where drivers name their threads, and do not start if they cannot."""


def python_paths() -> tuple[str, ...]:
    """Where Python and its packages live, which a cell must be able to read."""
    roots = {os.path.realpath(sys.prefix), os.path.realpath(sys.base_prefix), sys.prefix}
    roots |= {path for path in sys.path if os.path.basename(path) in _PACKAGE_FOLDERS}
    return tuple(sorted(roots))


_PACKAGE_FOLDERS = ("site-packages", "dist-packages")


def enter_namespaces() -> None:
    """Leave the host's namespaces; the next fork is process 1 of a new pid namespace."""
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


def furnish_namespaces(policy: Policy) -> str:
    """Mount a private /proc and a private scratch folder; the scratch folder's path."""
    syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE, None)
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("proc", "/proc", "proc", flags, None)
    needed = (*python_paths(), *policy.reading)
    for point in _SCRATCH_MOUNT_POINTS:
        if os.path.isdir(point) and not any(path.startswith(point + "/") for path in needed):
            options = f"size={policy.limits.scratch_bytes},mode=700"
            syscalls.mount("tmpfs", point, "tmpfs", flags, options)
            return point
    raise OSError("no folder to mount a scratch tmpfs on")


_FORKING_HEADROOM = 4
"""How far beyond its processes a cell may get before the kernel, and not its warden, says no."""


def apply_limits(limits: Limits, address_space: bool, alone: bool) -> None:
    """`alone`: in namespaces of its own, where only the cell's processes are counted."""
    processes = limits.processes * _FORKING_HEADROOM if alone else resource.RLIM_INFINITY
    space = _address_space() + limits.memory_bytes
    for what, amount in (
        (resource.RLIMIT_AS, space if address_space else resource.RLIM_INFINITY),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_FSIZE, limits.file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(limits.lifetime_seconds * (os.cpu_count() or 1)) + 1),
        (resource.RLIMIT_NOFILE, 1024),
    ):
        _, hard = resource.getrlimit(what)
        if hard != resource.RLIM_INFINITY:
            amount = hard if amount == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(what, (amount, amount))


def _address_space() -> int:
    with open("/proc/self/statm") as statistics:
        return int(statistics.read().split()[0]) * resource.getpagesize()


def make_read_only(folder: str, writing: tuple[str, ...] = ()) -> None:
    """Give up writing to the scratch folder too, but for what is named: read a folder of it."""
    if landlock.abi():
        landlock.restrict(
            [PathRule(path, write=False) for path in (*_SYSTEM_PATHS, *python_paths(), folder)]
            + [PathRule(path, write=True) for path in (*_DEVICES, *writing)]
        )


def confine(policy: Policy, scratch: str) -> None:
    """Give up, for good, everything the policy does not grant."""
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    apply_limits(policy.limits, address_space=not policy.devices, alone=policy.tier >= Tier.FULL)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.drop_capabilities()
    if policy.tier < Tier.PARTIAL:
        return
    reading = (*_SYSTEM_PATHS, *python_paths(), *policy.reading)
    own = (*policy.devices, OWN_FOLDER) if policy.devices else ()
    landlock.restrict(
        [PathRule(path, write=False) for path in reading]
        + [PathRule(path, write=True) for path in (*_DEVICES, *own, scratch)]
    )
    seccomp.restrict(policy.may_execute, local_sockets=bool(policy.devices))
