"""The Ascend C backend: operators in six sections, built with CANN in a sandbox."""

import msgspec

from kernelmill import __version__
from kernelmill.backends.ascendc.artefact import Artefact, ArtefactError, read_artefact
from kernelmill.backends.ascendc.cann import Cann, find_cann, requirements
from kernelmill.backends.ascendc.diagnostics import classify_log
from kernelmill.backends.ascendc.project import BINDING, PACKAGE, build_steps
from kernelmill.backends.ascendc.rules import check_artefact
from kernelmill.backends.base import (
    Backend,
    BuildFailed,
    Built,
    Requirement,
    RuleFinding,
    RunEnvironment,
)
from kernelmill.backends.support import build_cache
from kernelmill.backends.support.building import build_sandbox, cache_requirement, read_received
from kernelmill.records.candidate import MODEL_FILE, Candidate
from kernelmill.records.errors import UsageError
from kernelmill.sandbox import Zygote

ARCHIVE = "operator.tar"
"""The build artefact with the installed operator and its binding."""
_BUILD_PROGRAM = "kernelmill.backends.ascendc.build_program"
_BUILD_SECONDS = 600.0


class _BuildOutcome(msgspec.Struct):
    """The answer of the build program."""

    failed_step: str
    """The step that failed; empty where all succeeded."""
    log: str


class AscendCBackend(Backend):
    name = "ascendc"
    title = "Huawei Ascend NPU, Ascend C, never run on silicon"
    chips = ("Ascend910B3", "Ascend910B1", "Ascend910B2", "Ascend910B4", "Ascend310P3")
    device_kind = "npu"
    zygote_modules = (_BUILD_PROGRAM,)

    def __init__(self, chip: str = "") -> None:
        if chip and chip not in self.chips:
            raise UsageError(f"backend {self.name} knows {', '.join(self.chips)}, not {chip!r}")
        self.chip = chip or self.chips[0]

    def requirements(self) -> list[Requirement]:
        return [*requirements(), cache_requirement()]

    def run_environment(self) -> RunEnvironment:
        cann = find_cann(self.chip)
        return RunEnvironment(cann.environment, cann.folders)

    def toolchain(self) -> str:
        return f"CANN {find_cann(self.chip).version}, {self.chip}"

    def machine(self) -> tuple[str, ...]:
        return (f"{self.chip}, built by CANN",)

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        try:
            return check_artefact(read_artefact(candidate.files[MODEL_FILE]))
        except ArtefactError as error:
            instead = "give the six sections as six strings in one Python text"
            return [RuleFinding("artefact", MODEL_FILE, str(error), instead)]

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        try:
            artefact = read_artefact(candidate.files[MODEL_FILE])
        except ArtefactError as error:
            raise BuildFailed("artefact", str(error), ()) from error
        cann = find_cann(self.chip)
        steps = msgspec.json.encode(build_steps(artefact, cann)).decode()
        key = build_cache.cache_key((__version__, cann.version, steps))
        known = build_cache.load_artefact(key)
        archive = known if known is not None else build_operator(artefact, cann, zygote)
        build_cache.store_artefact(key, archive)
        artefacts = {ARCHIVE: archive, MODEL_FILE: artefact.model.encode()}
        names = (artefact.operator.op, artefact.operator.entry)
        return Built(artefacts, kernels=names, cached=bool(known))

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        return []


def build_operator(artefact: Artefact, cann: Cann, zygote: Zygote) -> bytes:
    """Run CANN's tools in a sandbox. Raises BuildFailed."""
    arguments = {
        "steps": [step._asdict() for step in build_steps(artefact, cann)],
        "environment": cann.environment,
        "results": [PACKAGE, f"{BINDING}.so"],
    }
    entry, reading = f"{_BUILD_PROGRAM}:run_build_steps", cann.folders
    with build_sandbox(entry, arguments, zygote, _BUILD_SECONDS, reading) as sandbox:
        body, descriptors = sandbox.request({"go": True}, _BUILD_SECONDS)
        archive = read_received(descriptors)
    try:
        outcome = msgspec.convert(body, _BuildOutcome)
    except msgspec.ValidationError as error:
        raise BuildFailed("protocol", "the build program sent a malformed answer", ()) from error
    if outcome.failed_step:
        raise classify_log(outcome.failed_step, outcome.log).build_failed()
    if archive is None:
        raise BuildFailed("limit", "the built operator is too large", ())
    return archive
