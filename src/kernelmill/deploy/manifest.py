"""Evidence of exported kernels: what was proven, measured, where and from what."""

import msgspec

from kernelmill import __version__
from kernelmill.deploy.champions import Champion, LeftOut, LineageStep
from kernelmill.records.verdict import Interval
from kernelmill.workspace.rows import now


class KernelEvidence(msgspec.Struct, frozen=True):
    name: str
    operator: str
    module: str
    """Name of the drop-in module's class."""
    task: str
    backend: str
    generator: str
    origin: str
    source: str
    """Digest of the sources, as in the verdict."""
    kernel_ms: float | None
    over_baseline: Interval | None
    baseline: str
    over_compile: Interval | None
    trials: int
    machine: str
    processor: str
    device: str
    threads: int
    versions: dict[str, str]
    judged_at: str
    lineage: tuple[LineageStep, ...]


class Manifest(msgspec.Struct, frozen=True):
    package: str
    version: str
    licence: str
    kernelmill: str
    """Version of Kernelmill that has written the package."""
    campaign: int
    made_at: str
    kernels: tuple[KernelEvidence, ...]
    left_out: tuple[LeftOut, ...]

    def to_json(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"


def describe_evidence(champion: Champion, name: str, operator: str, module: str) -> KernelEvidence:
    verdict, latency = champion.verdict, champion.verdict.latency
    evidence = verdict.evidence
    return KernelEvidence(
        name=name,
        operator=operator,
        module=module,
        task=champion.name,
        backend=champion.backend,
        generator=champion.generator,
        origin=champion.candidate.origin,
        source=verdict.candidate,
        kernel_ms=None if latency is None else latency.candidate_ms,
        over_baseline=None if latency is None else latency.over_baseline,
        baseline="" if latency is None else latency.baseline,
        over_compile=None if latency is None else latency.over_compile,
        trials=len(verdict.trials),
        machine=evidence.machine,
        processor=evidence.processor,
        device=evidence.device,
        threads=evidence.threads,
        versions=evidence.versions,
        judged_at=evidence.made_at,
        lineage=champion.lineage,
    )


def make_manifest(
    package: str,
    licence: str,
    campaign: int,
    kernels: tuple[KernelEvidence, ...],
    left_out: tuple[LeftOut, ...],
) -> Manifest:
    return Manifest(package, "1", licence, __version__, campaign, now(), kernels, left_out)
