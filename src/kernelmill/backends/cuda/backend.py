"""Building CUDA candidates with nvcc, without framework headers."""

import functools
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import PurePosixPath

from kernelmill import __version__
from kernelmill.backends import cache
from kernelmill.backends.base import Backend, BuildFailed, Built, Device, Finding, Requirement
from kernelmill.backends.building import PROGRAMS, SECONDS, builder, cache_requirement, take
from kernelmill.backends.cpp.binary_rules import Allowance, check_library
from kernelmill.backends.cpp.source_rules import check_text
from kernelmill.backends.cuda.diagnostics import device_state, first_errors
from kernelmill.backends.cuda.source_rules import check_cuda, own_kernels
from kernelmill.backends.inline import framework_folders, is_inline, record
from kernelmill.backends.nvidia import architecture, device_requirement
from kernelmill.backends.python_rules import PythonRules, library_functions
from kernelmill.candidate import MODEL_FILE, Candidate
from kernelmill.errors import BackendUnavailable
from kernelmill.sandbox import Zygote

_USUAL_PLACES = ("/usr/local/cuda/bin",)
_FLAGS = (
    "-std=c++20", "-O3", "-shared", "-Xcompiler", "-fPIC", "-cudart", "shared", "-Xptxas", "-v",
)  # fmt: skip
_FRAMEWORK_LIBRARIES = ("-lc10", "-lc10_cuda", "-ltorch_cpu", "-ltorch_cuda", "-ltorch")
_SOURCE_SUFFIXES = (".cu",)
_LIBRARY = "kernel.so"
_TENSOR_MAPS = "cuTensorMapEncode"
"""The one thing of the driver's that a launcher may need: descriptors for bulk copies."""
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
            (?:_ptsz)?)$"""
    ),
    data=re.compile(r"^_Z(?:GV)?ZL?\d+__device_stub\w+|^_ZL\d+__(?:fatDeviceText|cudaFatCubin)"),
)


class CudaBackend(Backend):
    name = "cuda"
    title = "NVIDIA GPU, CUDA C++"
    device = Device.CUDA
    zygote_modules = (PROGRAMS,)

    def requirements(self) -> list[Requirement]:
        compiler = _find_compiler()
        return [
            Requirement("nvcc", _version(compiler) if compiler else "", "install NVIDIA's CUDA"),
            device_requirement(),
            cache_requirement(),
        ]

    def toolchain(self) -> str:
        return f"{_version(_compiler())}, {architecture()}"

    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        findings = []
        for file, text in candidate.files.items():
            python = PurePosixPath(file).suffix == ".py"
            findings += _PYTHON_RULES.check(text, file) if python else check_cuda(text, file)
        if not is_inline(candidate) and not _sources(candidate):
            findings.append(
                Finding(
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
        driver = ("-lcuda",) if any(_TENSOR_MAPS in text for text in files.values()) else ()
        command = (*_FLAGS, "-o", _LIBRARY, *(f"./{source}" for source in sources), *driver)
        library, cached = self._compile(files, command, zygote)
        return Built({_LIBRARY: library}, kernels=own_kernels(files.values()), cached=cached)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[Finding]:
        inline = built.prebuilt_extensions
        called = set() if inline else library_functions(candidate.files[MODEL_FILE])
        return [
            finding
            for name, library in built.artefacts.items()
            for finding in check_library(library, name, called, inline, _ALLOWANCE)
        ]

    def _build_inline(self, candidate: Candidate, zygote: Zygote) -> Built:
        call = record(candidate, zygote, with_cuda=True)
        texts = [*call.sources, *call.cuda_sources]
        findings = check_text("\n".join(texts), "load_inline", framework_allowed=True)
        if findings:
            raise BuildFailed("integrity", str(findings[0]), tuple(map(str, findings)))
        name, include = call.name, (*framework_folders("include"), sysconfig.get_paths()["include"])
        command = (
            *_FLAGS, f"-DTORCH_EXTENSION_NAME={name}", *(f"-I{path}" for path in include),
            "-o", f"{name}.so", "extension.cu",
            *(f"-L{path}" for path in framework_folders("lib")), *_FRAMEWORK_LIBRARIES,
            "-ltorch_python",
        )  # fmt: skip
        library, cached = self._compile({"extension.cu": call.text()}, command, zygote)
        kernels = own_kernels(texts)
        return Built(
            {f"{name}.so": library}, prebuilt_extensions=True, kernels=kernels, cached=cached
        )

    def _compile(
        self, files: dict[str, str], options: tuple[str, ...], zygote: Zygote
    ) -> tuple[bytes, bool]:
        compiler, target = _compiler(), architecture()
        options = (f"-gencode=arch={target.replace('sm', 'compute')},code={target}", *options)
        identity = (__version__, _version(compiler), *options)
        key = cache.cache_key((*identity, *(part for item in files.items() for part in item)))
        if (known := cache.load(key)) is not None:
            return known, True
        arguments = {
            "files": files,
            "command": [compiler, *options],
            "output": options[options.index("-o") + 1],
            "inspected": False,
        }
        with builder(f"{PROGRAMS}:compile_sources", arguments, zygote) as cell:
            body, descriptors = cell.request({"go": True}, SECONDS)
            library = take(descriptors)
        output = str(body["output"])
        if body["status"] != 0 or library is None:
            raise BuildFailed("compile-error", "nvcc refuses it", first_errors(output))
        if state := device_state(output):
            raise BuildFailed("state", state, (), "pass what a kernel needs as its arguments")
        cache.store(key, library)
        return library, False


def _sources(candidate: Candidate) -> list[str]:
    return [f for f in sorted(candidate.files) if PurePosixPath(f).suffix in _SOURCE_SUFFIXES]


def _find_compiler() -> str | None:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *_USUAL_PLACES))
    return shutil.which("nvcc", path=path)


def _compiler() -> str:
    compiler = _find_compiler()
    if compiler is None:
        raise BackendUnavailable("the cuda backend needs nvcc, of NVIDIA's CUDA tool kit")
    return compiler


@functools.cache
def _version(compiler: str) -> str:
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True)
    release = re.search(r"release [\d.]+, (V[\d.]+)", done.stdout)
    return f"nvcc {release[1]}" if release else compiler
