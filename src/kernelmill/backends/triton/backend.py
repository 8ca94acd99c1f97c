"""Triton candidates: Python files whose kernels are compiled when they are first called."""

import importlib.metadata
import importlib.util
from pathlib import PurePosixPath

import msgspec

from kernelmill.backends.base import Backend, BuildFailed, Built, Device, Finding, Requirement
from kernelmill.backends.building import builder, take
from kernelmill.backends.cache import cache_key
from kernelmill.backends.nvidia import capability, device_name, device_names
from kernelmill.backends.python_rules import KernelLanguage, PythonRules, kernel_names
from kernelmill.backends.recent import Recent
from kernelmill.backends.triton.protocol import AheadRequest
from kernelmill.candidate import MODEL_FILE, Candidate
from kernelmill.errors import BackendUnavailable
from kernelmill.sandbox import Zygote
from kernelmill.tasks.task import Task

_HOST_NAMES = frozenset("Config autotune cdiv heuristics jit language next_power_of_2".split())
_LANGUAGE = KernelLanguage(
    modules={"triton": _HOST_NAMES, "triton.language": frozenset({"constexpr", "dtype"})
             | frozenset("float16 bfloat16 float32 float64 int8 int16 int32 int64 int1".split())},
    decorators=frozenset({"triton.jit"}),
    dressings=frozenset({"triton.autotune", "triton.heuristics"}),
)  # fmt: skip
_WARM = "kernelmill.backends.triton.warm"
_AHEAD = "kernelmill.backends.triton.ahead"
_INTERPRETER = "kernelmill.backends.triton.interpreted"
_RULES = PythonRules(language=_LANGUAGE)
_SECONDS = 60.0
"""For compiling ahead: a candidate that hangs will be found out in its runner."""


class TritonBackend(Backend):
    """On a machine without a GPU, Triton's interpreter says whether a kernel is right."""

    name = "triton"
    title = "NVIDIA GPU, Triton"

    def __init__(self) -> None:
        self.measures = bool(device_name())
        self.device = Device.CUDA if self.measures else Device.CPU
        self._ahead = Recent()
        """Not on the disk: the hidden sizes it is for are drawn anew by every process."""
        programs = (_WARM, _AHEAD) if self.measures else (_INTERPRETER,)
        self.zygote_modules = programs if _version() else ()

    def requirements(self) -> list[Requirement]:
        found = device_name() or "none: the interpreter judges correctness, on the processor"
        return [
            Requirement("Triton", _version(), "pip install triton (torch for CUDA brings it)"),
            Requirement("NVIDIA GPU", found, ""),
        ]

    def devices(self) -> tuple[str, ...]:
        return device_names()

    def toolchain(self) -> str:
        version = _version()
        if not version:
            raise BackendUnavailable("the triton backend needs Triton: pip install triton")
        return f"Triton {version}" + ("" if self.measures else ", interpreted")

    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        findings = [
            finding
            for file, text in candidate.files.items()
            if PurePosixPath(file).suffix == ".py"
            for finding in _RULES.check(text, file)
        ]
        if not findings and not self._kernels(candidate):
            findings.append(
                Finding(
                    "no-kernel", MODEL_FILE, "the candidate has no Triton kernel",
                    "write one with @triton.jit and launch it in forward",
                )
            )  # fmt: skip
        return findings

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """Triton compiles for the arguments of a call: there is nothing to build before it."""
        self.toolchain()
        try:
            kernels = self._kernels(candidate)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BuildFailed("syntax", f"not valid Python: {error}", ()) from error
        return Built({}, kernels=kernels, compiles_at_run_time=self.measures)

    def compile_for(self, task: Task, candidate: Candidate, built: Built, zygote: Zygote) -> Built:
        if not self.measures:
            return built
        shapes = [variant.constants for variant in task.variants]
        request = AheadRequest(candidate.files, task.source, task.scale, shapes, capability())
        key = cache_key((msgspec.json.encode(request).decode(),))
        compiled = self._ahead.load(key)
        if compiled is None:
            compiled = _compile_ahead(request, zygote)
            self._ahead.store(key, compiled)
        return msgspec.structs.replace(built, workshop=compiled)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[Finding]:
        return []

    def _kernels(self, candidate: Candidate) -> tuple[str, ...]:
        return tuple(
            name
            for file, text in candidate.files.items()
            if PurePosixPath(file).suffix == ".py"
            for name in kernel_names(text, _LANGUAGE)
        )


def _compile_ahead(request: AheadRequest, zygote: Zygote) -> bytes:
    """Nothing where it takes too long, or too much."""
    arguments = msgspec.to_builtins(request)
    try:
        with builder(f"{_AHEAD}:compile_ahead", arguments, zygote, _SECONDS) as cell:
            return take(cell.request({"go": True}, _SECONDS).files) or b""
    except BuildFailed:
        return b""


def _version() -> str:
    if importlib.util.find_spec("triton") is None:
        return ""
    return importlib.metadata.version("triton")
