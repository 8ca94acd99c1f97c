"""Logs of confined processes: memory files for what they print."""

import fcntl
import os


def sealed_log(size: int) -> int:
    """A memory file that cannot grow: printing gigabytes fills it and no more."""
    log = os.memfd_create("log", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(log, size)
    seals = fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
    fcntl.fcntl(log, fcntl.F_ADD_SEALS, seals)
    return log
