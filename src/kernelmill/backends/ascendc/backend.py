"""Building Ascend C operators with CANN, from artefacts of six sections."""

import msgspec

from kernelmill import __version__
from kernelmill.backends import cache
from kernelmill.backends.ascendc.artefact import Artefact, ArtefactError, read_artefact
from kernelmill.backends.ascendc.cann import Cann, find_cann, requirements
from kernelmill.backends.ascendc.diagnostics import diagnose
from kernelmill.backends.ascendc.project import BINDING, PACKAGE, steps
from kernelmill.backends.ascendc.rules import check_artefact
from kernelmill.backends.base import Backend, BuildFailed, Built, Device, Finding, Requirement
from kernelmill.backends.building import builder, cache_requirement, take
from kernelmill.candidate import MODEL_FILE, Candidate
from kernelmill.errors import UsageError
from kernelmill.sandbox import Zygote

ARCHIVE = "operator.tar"
"""The installed operator and its binding."""
_PROGRAMS = "kernelmill.backends.ascendc.making"
_SECONDS = 600.0


class _Made(msgspec.Struct):
    """How the steps in the cell ended."""

    failed: str
    log: str


class AscendCBackend(Backend):
    name = "ascendc"
    title = "Huawei Ascend NPU, Ascend C"
    chips = ("Ascend910B3", "Ascend910B1", "Ascend910B2", "Ascend910B4", "Ascend310P3")
    device = Device.NPU
    zygote_modules = (_PROGRAMS,)

    def __init__(self, chip: str = "") -> None:
        if chip and chip not in self.chips:
            raise UsageError(f"backend {self.name} knows {', '.join(self.chips)}, not {chip!r}")
        self.chip = chip or self.chips[0]

    def requirements(self) -> list[Requirement]:
        return [*requirements(), cache_requirement()]

    def toolchain(self) -> str:
        return f"CANN {find_cann(self.chip).version}, {self.chip}"

    def machine(self) -> tuple[str, ...]:
        return (f"{self.chip}, built by CANN",)

    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        try:
            return check_artefact(read_artefact(candidate.files[MODEL_FILE]))
        except ArtefactError as error:
            instead = "give the six sections as six strings in one Python text"
            return [Finding("artefact", MODEL_FILE, str(error), instead)]

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        try:
            artefact = read_artefact(candidate.files[MODEL_FILE])
        except ArtefactError as error:
            raise BuildFailed("artefact", str(error), ()) from error
        cann = find_cann(self.chip)
        key = cache.cache_key((__version__, cann.version, cann.soc, *artefact[1:-1]))
        known = cache.load(key)
        archive = known if known is not None else make(artefact, cann, zygote)
        cache.store(key, archive)
        return Built({ARCHIVE: archive}, kernels=(artefact.operator.entry,), cached=bool(known))

    def inspect_build(self, candidate: Candidate, built: Built) -> list[Finding]:
        return []


def make(artefact: Artefact, cann: Cann, zygote: Zygote) -> bytes:
    """Run CANN's tools in a cell. Raises BuildFailed."""
    arguments = {
        "steps": [step._asdict() for step in steps(artefact, cann)],
        "environment": cann.environment,
        "results": [PACKAGE, f"{BINDING}.so"],
    }
    reading = (str(cann.root),)
    with builder(f"{_PROGRAMS}:make_operator", arguments, zygote, _SECONDS, reading) as cell:
        body, descriptors = cell.request({"go": True}, _SECONDS)
        archive = take(descriptors)
    try:
        made = msgspec.convert(body, _Made)
    except msgspec.ValidationError as error:
        raise BuildFailed("protocol", "the build does not answer as it should", ()) from error
    if made.failed:
        raise diagnose(made.failed, made.log).build_failed()
    if archive is None:
        raise BuildFailed("limit", "the built operator is too large", ())
    return archive
