"""Evidence of a verdict: machine, versions, isolation, clock and a hash of the seeds."""

import datetime
import functools
import hashlib
import importlib.metadata
import platform
from collections.abc import Iterable

from kernelmill.records.verdict import Evidence
from kernelmill.sandbox import Tier

_PACKAGES = ("kernelmill", "torch", "numpy")


def make_evidence(
    seeds: Iterable[int], threads: int, tier: Tier, compiler: str, clock: str, device: str
) -> Evidence:
    secret = ",".join(str(seed) for seed in seeds)
    now = datetime.datetime.now(datetime.UTC)
    return Evidence(
        seeds=hashlib.sha256(secret.encode()).hexdigest()[:16],
        machine=f"{platform.system()} {platform.release()} {platform.machine()}",
        processor=processor_name(),
        threads=threads,
        versions={**_package_versions(), "python": platform.python_version(), "build": compiler},
        isolation=str(tier),
        clock=clock,
        device=device,
        made_at=now.isoformat(timespec="seconds"),
    )


@functools.cache
def processor_name() -> str:
    try:
        with open("/proc/cpuinfo") as info:
            for line in info:
                if line.startswith(("model name", "CPU part")):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


@functools.cache
def _package_versions() -> dict[str, str]:
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "unknown"
    return versions
