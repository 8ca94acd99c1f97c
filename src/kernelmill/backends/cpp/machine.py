"""Facts about this machine's CPU, for writers of kernels."""

import functools
import os
from pathlib import Path

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_EXTENSIONS = ("avx512f", "avx512_bf16", "avx512_vnni", "amx_tile", "avx2", "fma", "asimd", "sve")


@functools.cache
def machine_facts() -> tuple[str, ...]:
    """Processors, model, vector extensions and caches, one line each."""
    facts = [f"{len(os.sched_getaffinity(0))} processors, one OpenMP thread each"]
    fields = _processor()
    if name := fields.get("model name", ""):
        facts.append(name)
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    if known := [name for name in _EXTENSIONS if name in flags]:
        facts.append(f"vector extensions: {', '.join(known)}")
    if caches := _caches():
        facts.append(f"caches: {', '.join(caches)}")
    return tuple(facts)


def _processor() -> dict[str, str]:
    """The first processor's fields in /proc/cpuinfo."""
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _caches() -> list[str]:
    found = []
    for folder in sorted(_CACHES.glob("index*")):
        try:
            level, kind, size = (
                (folder / name).read_text().strip() for name in ("level", "type", "size")
            )
        except OSError:
            continue
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return found
