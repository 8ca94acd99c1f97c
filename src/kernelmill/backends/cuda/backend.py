"""The `cuda` backend: CUDA C++ candidates, built by nvcc without torch's headers."""

import functools
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import PurePosixPath

from kernelmill.backends.base import Backend, BuildFailed, Built, Requirement, RuleFinding
from kernelmill.backends.cpp.binary_rules import Allowance, check_library
from kernelmill.backends.cuda.diagnostics import device_state
from kernelmill.backends.cuda.source_rules import check_cuda, own_kernels
from kernelmill.backends.shipping import BuildRecipe
from kernelmill.backends.support.build_cache import BuildResult, build_once
from kernelmill.backends.support.building import (
    COMPILER_PROGRAMS,
    Compilation,
    cache_requirement,
    compile_library,
)
from kernelmill.backends.support.inline import (
    framework_folders,
    is_inline,
    read_inline_extension,
)
from kernelmill.backends.support.nvidia import architecture, gpu_names, gpu_requirement
from kernelmill.backends.support.python_rules import PythonRules, library_functions
from kernelmill.records.candidate import MODEL_FILE, Candidate
from kernelmill.records.errors import BackendUnavailable
from kernelmill.sandbox import Zygote

_DEFAULT_FOLDERS = ("/usr/local/cuda/bin",)
_FLAGS = (
    "-std=c++20", "-O3", "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared", "-Xptxas", "-v",
)  # fmt: skip
_FRAMEWORK_LIBRARIES = ("-lc10", "-lc10_cuda", "-ltorch_cpu", "-ltorch_cuda", "-ltorch")
_SOURCE_SUFFIXES = (".cu",)
_LIBRARY = "kernel.so"
_EXTENSION = "extension.cu"
_TENSOR_MAPS = "cuTensorMapEncode"
"""The only part of the driver that a launcher may need: descriptors of bulk copies."""
_PYTHON_RULES = PythonRules(
    frozenset({"torch.utils.cpp_extension.load_inline"}),
    expressions=frozenset({"torch.cuda.current_stream().cuda_stream"}),
)
_ALLOWANCE = Allowance(
    imports=re.compile(
        r"""(?x)^(?:__cuda(?!RegisterVar|RegisterManagedVar)\w+ | cuTensorMapEncode\w+
        | cuda(?:LaunchKernel(?:ExC)?|LaunchCooperativeKernel|Func(?:SetAttribute|GetAttributes)
            |GetDevice|DeviceGetAttribute|GetDeviceProperties\w*|Occupancy\w+
            |(?:Get|PeekAt)LastError|GetErrorString|Mem(?:set|cpy)Async|(?:Malloc|Free)Async)
            (?:_ptsz)?
        | (?:f|sn)?printf | puts | fputs | fputc | putchar | fwrite | fflush | stdout | stderr)$"""
    ),
    constructors=re.compile(r"^_ZL\d+__sti____cudaRegisterAllv$|^_GLOBAL__sub_I_"),
    data=re.compile(r"^_Z(?:GV)?ZL?\d+__device_stub\w+|^_ZL\d+__(?:fatDeviceText|cudaFatCubin)"),
)


class CudaBackend(Backend):
    name = "cuda"
    title = "NVIDIA GPU, CUDA C++"
    device_kind = "cuda"
    shipped_device = "cuda"
    zygote_modules = (COMPILER_PROGRAMS,)

    def requirements(self) -> list[Requirement]:
        compiler = _find_compiler()
        return [
            Requirement(
                "nvcc", _version(compiler) if compiler else "", "install NVIDIA's CUDA toolkit"
            ),
            gpu_requirement(),
            cache_requirement(),
        ]

    def devices(self) -> tuple[str, ...]:
        return gpu_names()

    def toolchain(self) -> str:
        return f"{_version(_compiler())}, {architecture()}"

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        findings = []
        for file, text in candidate.files.items():
            python = PurePosixPath(file).suffix == ".py"
            findings += _PYTHON_RULES.check(text, file) if python else check_cuda(text, file)
        if not is_inline(candidate) and not _sources(candidate):
            findings.append(
                RuleFinding(
                    "no-kernel", MODEL_FILE, "the candidate has no CUDA source",
                    "add kernel.cu and call its launcher through ctypes",
                )
            )  # fmt: skip
        return findings

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        if is_inline(candidate):
            return self._build_inline(candidate, zygote)
        files = {f: t for f, t in candidate.files.items() if not f.endswith(".py")}
        sources = _sources(candidate)
        if not sources:
            raise BuildFailed("no-source", "there is no CUDA source to build", ())
        driver = _driver(files)
        command = (*_compiler_with_target(), *_FLAGS)
        compilation = Compilation(
            files, command, tuple(sources), _LIBRARY, driver, preprocessed=False
        )
        built = _compile(compilation, zygote)
        kernels = own_kernels(files.values())
        return Built({_LIBRARY: built.artefact}, kernels=kernels, cached=built.cached)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        inline = built.prebuilt_extensions
        called = set() if inline else library_functions(candidate.files[MODEL_FILE])
        return [
            finding
            for name, library in built.artefacts.items()
            for finding in check_library(library, name, called, inline, _ALLOWANCE)
        ]

    def ship(self, candidate: Candidate) -> BuildRecipe:
        files, sources = tuple(sorted(candidate.files)), tuple(_sources(candidate))
        if is_inline(candidate):
            return BuildRecipe(self.name, self.shipped_device, files)
        compilers = ("nvcc", *(f"{folder}/nvcc" for folder in _DEFAULT_FOLDERS))
        flags = ("-arch=native", *_FLAGS)
        return BuildRecipe(
            self.name, self.shipped_device, files, _LIBRARY, sources, compilers, "NVCC", flags,
            _driver(candidate.files),
        )  # fmt: skip

    def _build_inline(self, candidate: Candidate, zygote: Zygote) -> Built:
        call = read_inline_extension(candidate, zygote, with_cuda=True)
        texts = [*call.sources, *call.cuda_sources]
        name, include = call.name, (*framework_folders("include"), sysconfig.get_paths()["include"])
        library = f"{name}.so"
        command = (
            *_compiler_with_target(), *_FLAGS, f"-DTORCH_EXTENSION_NAME={name}",
            *(f"-I{path}" for path in include),
        )  # fmt: skip
        link = (
            *(f"-L{path}" for path in framework_folders("lib")), *_FRAMEWORK_LIBRARIES,
            "-ltorch_python",
        )  # fmt: skip
        compilation = Compilation(
            {_EXTENSION: call.text()}, command, (_EXTENSION,), library, link, preprocessed=False,
            extension={"load_inline": "\n".join(texts)},
        )  # fmt: skip
        built = _compile(compilation, zygote)
        return Built(
            {library: built.artefact}, prebuilt_extensions=True, kernels=own_kernels(texts),
            cached=built.cached,
        )  # fmt: skip


def _driver(files: Mapping[str, str]) -> tuple[str, ...]:
    return ("-lcuda",) if any(_TENSOR_MAPS in text for text in files.values()) else ()


def _compiler_with_target() -> tuple[str, str]:
    target = architecture()
    return _compiler(), f"-gencode=arch={target.replace('sm', 'compute')},code={target}"


def _compile(compilation: Compilation, zygote: Zygote) -> BuildResult:
    key = compilation.key(_version(compilation.command[0]))
    return build_once(key, lambda: _compile_and_inspect(compilation, zygote))


def _compile_and_inspect(compilation: Compilation, zygote: Zygote) -> bytes:
    compiled = compile_library(compilation, zygote)
    if state := device_state(compiled.output):
        raise BuildFailed("state", state, (), "pass what a kernel needs as its arguments")
    return compiled.library


def _sources(candidate: Candidate) -> list[str]:
    return [f for f in sorted(candidate.files) if PurePosixPath(f).suffix in _SOURCE_SUFFIXES]


def _find_compiler() -> str | None:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *_DEFAULT_FOLDERS))
    return shutil.which("nvcc", path=path)


def _compiler() -> str:
    compiler = _find_compiler()
    if compiler is None:
        raise BackendUnavailable("the cuda backend needs nvcc: install NVIDIA's CUDA toolkit")
    return compiler


@functools.cache
def _version(compiler: str) -> str:
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True)
    release = re.search(r"release [\d.]+, (V[\d.]+)", done.stdout)
    return f"nvcc {release[1]}" if release else compiler
