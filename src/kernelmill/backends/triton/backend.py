"""The `triton` backend: Python candidates whose kernels compile when they are first called."""

import importlib.metadata
import importlib.util
from pathlib import PurePosixPath

import msgspec

from kernelmill.backends.base import Backend, BuildFailed, Built, Requirement, RuleFinding
from kernelmill.backends.shipping import BuildRecipe
from kernelmill.backends.support.build_cache import cache_key
from kernelmill.backends.support.building import build_sandbox, read_received
from kernelmill.backends.support.nvidia import capability, gpu_name, gpu_names
from kernelmill.backends.support.python_rules import EmbeddedLanguage, PythonRules, kernel_names
from kernelmill.backends.support.recent_builds import RecentBuilds
from kernelmill.backends.triton.protocol import AheadRequest
from kernelmill.records.candidate import MODEL_FILE, Candidate
from kernelmill.records.errors import BackendUnavailable
from kernelmill.records.task import Task
from kernelmill.sandbox import Zygote

_HOST_NAMES = frozenset("Config autotune cdiv heuristics jit language next_power_of_2".split())
_LANGUAGE = EmbeddedLanguage(
    modules={"triton": _HOST_NAMES, "triton.language": frozenset({"constexpr", "dtype"})
             | frozenset("float16 bfloat16 float32 float64 int8 int16 int32 int64 int1".split())},
    decorators=frozenset({"triton.jit"}),
    extra_decorators=frozenset({"triton.autotune", "triton.heuristics"}),
)  # fmt: skip
_WARM = "kernelmill.backends.triton.warm"
_AHEAD_OF_TIME = "kernelmill.backends.triton.ahead_of_time"
_INTERPRETER = "kernelmill.backends.triton.interpreted"
_RULES = PythonRules(language=_LANGUAGE)
_SECONDS = 60.0
"""Limit of compiling ahead of time. A candidate that hangs is reported by its runner."""


class TritonBackend(Backend):
    """On a machine without a GPU, Triton's interpreter checks correctness on the CPU."""

    name = "triton"
    title = "NVIDIA GPU, Triton"
    shipped_device = "cuda"

    def __init__(self) -> None:
        self._interpreted = not gpu_name()
        self.has_latency_gate = not self._interpreted
        self.device_kind = "cpu" if self._interpreted else "cuda"
        self._compile_caches = RecentBuilds()
        """Not on the disk, because every process draws other hidden sizes."""
        programs = (_INTERPRETER,) if self._interpreted else (_WARM, _AHEAD_OF_TIME)
        self.zygote_modules = programs if _version() else ()

    def requirements(self) -> list[Requirement]:
        found = gpu_name() or "none: the interpreter checks correctness on the CPU"
        return [
            Requirement("Triton", _version(), "pip install triton (torch for CUDA brings it)"),
            Requirement("NVIDIA GPU", found, ""),
        ]

    def devices(self) -> tuple[str, ...]:
        return gpu_names()

    def toolchain(self) -> str:
        version = _version()
        if not version:
            raise BackendUnavailable("the triton backend needs Triton: pip install triton")
        return f"Triton {version}" + (", interpreted" if self._interpreted else "")

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        findings = [
            finding
            for file, text in candidate.files.items()
            if PurePosixPath(file).suffix == ".py"
            for finding in _RULES.check(text, file)
        ]
        if not findings and not self._kernels(candidate):
            findings.append(
                RuleFinding(
                    "no-kernel", MODEL_FILE, "the candidate has no Triton kernel",
                    "write one with @triton.jit and launch it in forward",
                )
            )  # fmt: skip
        return findings

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        """Only parses: Triton compiles for the arguments of a call."""
        self.toolchain()
        try:
            kernels = self._kernels(candidate)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BuildFailed("syntax", f"not valid Python: {error}", ()) from error
        return Built({}, kernels=kernels, compiles_at_run_time=not self._interpreted)

    def compile_for(self, task: Task, candidate: Candidate, built: Built, zygote: Zygote) -> Built:
        if self._interpreted:
            return built
        shapes = [variant.constants for variant in task.variants]
        request = AheadRequest(candidate.files, task.source, task.scale, shapes, capability())
        key = cache_key((msgspec.json.encode(request).decode(),))
        compiled = self._compile_caches.load(key)
        if compiled is None:
            compiled = _compile_ahead(request, zygote)
            self._compile_caches.store(key, compiled)
        return msgspec.structs.replace(built, compile_cache=compiled)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        return []

    def ship(self, candidate: Candidate) -> BuildRecipe:
        return BuildRecipe(self.name, self.shipped_device, tuple(sorted(candidate.files)))

    def _kernels(self, candidate: Candidate) -> tuple[str, ...]:
        return tuple(
            name
            for file, text in candidate.files.items()
            if PurePosixPath(file).suffix == ".py"
            for name in kernel_names(text, _LANGUAGE)
        )


def _compile_ahead(request: AheadRequest, zygote: Zygote) -> bytes:
    """An archive of Triton's cache; empty if it takes too long or too much memory."""
    program, arguments = f"{_AHEAD_OF_TIME}:compile_ahead", msgspec.to_builtins(request)
    try:
        with build_sandbox(program, arguments, zygote, _SECONDS) as sandbox:
            return read_received(sandbox.request({"go": True}, _SECONDS).files) or b""
    except BuildFailed:
        return b""


def _version() -> str:
    if importlib.util.find_spec("triton") is None:
        return ""
    return importlib.metadata.version("triton")
