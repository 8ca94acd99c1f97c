"""Building C++ candidates with the system's compiler, without framework headers."""

import functools
import os
import shutil
import subprocess
import sysconfig
from pathlib import PurePosixPath

from kernelmill import __version__
from kernelmill.backends import cache
from kernelmill.backends.base import Backend, BuildFailed, Built, Finding, Requirement
from kernelmill.backends.building import PROGRAMS, SECONDS, builder, cache_requirement, take
from kernelmill.backends.cpp import machine
from kernelmill.backends.cpp.binary_rules import check_library
from kernelmill.backends.cpp.diagnostics import first_errors
from kernelmill.backends.cpp.source_rules import check_text
from kernelmill.backends.inline import framework_folders, is_inline, record
from kernelmill.backends.python_rules import PythonRules, library_functions
from kernelmill.candidate import MODEL_FILE, Candidate
from kernelmill.errors import BackendUnavailable
from kernelmill.sandbox import (
    Zygote,
)

_COMPILERS = ("g++", "c++", "clang++")
_FLAGS = (
    "-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-fvisibility=default",
    "-fno-optimize-sibling-calls", "-Wl,-z,relro,-z,now",
    "-fdiagnostics-color=never", "-fmax-errors=5", "-w",
)  # fmt: skip
_FRAMEWORK_LIBRARIES = ("-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python")
_SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx")
_LIBRARY = "kernel.so"
_PYTHON_RULES = PythonRules(frozenset({"torch.utils.cpp_extension.load_inline"}))


class CppBackend(Backend):
    name = "cpp"
    title = "CPU, C++20 with SIMD and OpenMP"
    zygote_modules = (PROGRAMS,)

    def requirements(self) -> list[Requirement]:
        compiler = _find_compiler()
        remedy = "apt-get install g++ (or make setup-system)"
        return [
            Requirement("C++ compiler", _version(compiler) if compiler else "", remedy),
            Requirement("objdump", shutil.which("objdump") or "", "apt-get install binutils"),
            cache_requirement(),
        ]

    def toolchain(self) -> str:
        return _version(_compiler())

    def machine(self) -> tuple[str, ...]:
        return machine.describe()

    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        findings = _PYTHON_RULES.check(candidate.files[MODEL_FILE], MODEL_FILE)
        inline = is_inline(candidate)
        for file, text in candidate.files.items():
            if PurePosixPath(file).suffix != ".py":
                findings += check_text(text, file)
            elif file != MODEL_FILE:
                findings += _PYTHON_RULES.check(text, file)
        if not inline and not _sources(candidate):
            findings.append(
                Finding(
                    "no-kernel", MODEL_FILE, "the candidate has no C++ source",
                    "add kernel.cpp and call it through ctypes",
                )
            )  # fmt: skip
        return findings

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        _compiler()
        if is_inline(candidate):
            return self._build_inline(candidate, zygote)
        files = {f: t for f, t in candidate.files.items() if not f.endswith(".py")}
        sources = _sources(candidate)
        if not sources:
            raise BuildFailed("no-source", "there is no C++ source to build", ())
        library, cached = self._compile(
            files, (*_FLAGS, "-o", _LIBRARY, *(f"./{s}" for s in sources)), zygote
        )
        return Built({_LIBRARY: library}, cached=cached)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[Finding]:
        inline = built.prebuilt_extensions
        called = set() if inline else library_functions(candidate.files[MODEL_FILE])
        return [
            finding
            for name, library in built.artefacts.items()
            for finding in check_library(library, name, called, framework_allowed=inline)
        ]

    def _build_inline(self, candidate: Candidate, zygote: Zygote) -> Built:
        call = record(candidate, zygote)
        findings = check_text("\n".join(call.sources), "cpp_sources", framework_allowed=True)
        if findings:
            raise BuildFailed("integrity", str(findings[0]), tuple(map(str, findings)))
        name, include = call.name, (*framework_folders("include"), sysconfig.get_paths()["include"])
        command = (
            *_FLAGS, f"-DTORCH_EXTENSION_NAME={name}", *(f"-I{path}" for path in include),
            "-o", f"{name}.so", "extension.cpp",
            *(f"-L{path}" for path in framework_folders("lib")), *_FRAMEWORK_LIBRARIES,
        )  # fmt: skip
        library, cached = self._compile({"extension.cpp": call.text()}, command, zygote, True)
        return Built({f"{name}.so": library}, prebuilt_extensions=True, cached=cached)

    def _compile(
        self,
        files: dict[str, str],
        options: tuple[str, ...],
        zygote: Zygote,
        with_framework: bool = False,
    ) -> tuple[bytes, bool]:
        compiler = _compiler()
        identity = (__version__, _version(compiler), _processor_flags(), *options)
        key = cache.cache_key((*identity, *(part for item in files.items() for part in item)))
        if (known := cache.load(key)) is not None:
            return known, True
        output = options[options.index("-o") + 1]
        arguments = {
            "files": files,
            "command": [compiler, *options],
            "output": output,
            "inspected": not with_framework,
        }
        with builder(f"{PROGRAMS}:compile_sources", arguments, zygote) as cell:
            body, descriptors = cell.request({"go": True}, SECONDS)
            library = take(descriptors)
        if body["status"] < 0:
            raise BuildFailed("crash", f"the compiler was killed by signal {-body['status']}", ())
        if body["status"] != 0 or library is None:
            raise BuildFailed(
                "compile-error", "the compiler refuses it", first_errors(str(body["output"]))
            )
        if body["instructions"]:
            raise BuildFailed(
                "instructions", "it holds instructions a kernel has no use for",
                tuple(str(line) for line in body["instructions"][:8]),
                "call functions by name, and leave system calls and clocks alone",
            )  # fmt: skip
        cache.store(key, library)
        return library, False


def _sources(candidate: Candidate) -> list[str]:
    return [f for f in sorted(candidate.files) if PurePosixPath(f).suffix in _SOURCE_SUFFIXES]


def _find_compiler() -> str | None:
    wanted = os.environ.get("CXX")
    names = (wanted, *_COMPILERS) if wanted else _COMPILERS
    return next((path for name in names if (path := shutil.which(name))), None)


def _compiler() -> str:
    compiler = _find_compiler()
    if compiler is None:
        raise BackendUnavailable(
            "the cpp backend needs a C++ compiler and none is installed; "
            "run `apt-get install g++` (or `make setup-system`)"
        )
    return compiler


@functools.cache
def _version(compiler: str) -> str:
    done = subprocess.run([compiler, "--version"], capture_output=True, text=True)
    return done.stdout.partition("\n")[0].strip() or compiler


@functools.cache
def _processor_flags() -> str:
    """What -march=native depends on."""
    try:
        with open("/proc/cpuinfo") as info:
            return next((line for line in info if line.startswith(("flags", "Features"))), "")
    except OSError:
        return ""
