"""The `cpp` backend: C++ candidates, built by the system's compiler without torch's headers."""

import functools
import os
import shutil
import subprocess
import sysconfig
from pathlib import PurePosixPath

import msgspec

from kernelmill.backends.base import Backend, BuildFailed, Built, Requirement, RuleFinding
from kernelmill.backends.cpp.binary_rules import check_library
from kernelmill.backends.cpp.library_memory import (
    MEMORY_RULES,
    memory_problems,
    thread_local_problems,
)
from kernelmill.backends.cpp.machine import machine_facts
from kernelmill.backends.cpp.source_rules import check_preprocessed, check_text
from kernelmill.backends.shipping import BuildRecipe
from kernelmill.backends.support.build_cache import build_once
from kernelmill.backends.support.building import (
    COMPILER_PROGRAMS,
    Compilation,
    Compiled,
    cache_requirement,
    compile_library,
)
from kernelmill.backends.support.inline import (
    framework_folders,
    is_inline,
    read_inline_extension,
)
from kernelmill.backends.support.python_rules import PythonRules, library_functions
from kernelmill.records.candidate import MODEL_FILE, Candidate
from kernelmill.records.errors import BackendUnavailable
from kernelmill.sandbox import Zygote

_COMPILERS = ("g++", "c++", "clang++")
_COMPILER_VARIABLE = "CXX"
_FLAGS = (
    "-std=c++20", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-fvisibility=default",
    "-fno-optimize-sibling-calls", "-fno-jump-tables", "-Wl,-z,relro,-z,now,-z,text",
    "-fdiagnostics-color=never", "-fmax-errors=5", "-w", "-U__DATE__", "-U__TIME__",
    "-U__TIMESTAMP__",
)  # fmt: skip
_FRAMEWORK_LIBRARIES = ("-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python")
_SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx")
_LIBRARY = "kernel.so"
_EXTENSION = "extension.cpp"
_PYTHON_RULES = PythonRules(frozenset({"torch.utils.cpp_extension.load_inline"}))


class CppBackend(Backend):
    name = "cpp"
    title = "CPU, C++20 with SIMD and OpenMP"
    shipped_device = "cpu"
    zygote_modules = (COMPILER_PROGRAMS,)

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
        return machine_facts()

    def inspect_sources(self, candidate: Candidate) -> list[RuleFinding]:
        findings = _PYTHON_RULES.check(candidate.files[MODEL_FILE], MODEL_FILE)
        inline = is_inline(candidate)
        for file, text in candidate.files.items():
            if PurePosixPath(file).suffix != ".py":
                findings += check_text(text, file)
            elif file != MODEL_FILE:
                findings += _PYTHON_RULES.check(text, file)
        if not inline and not _sources(candidate):
            findings.append(
                RuleFinding(
                    "no-kernel", MODEL_FILE, "the candidate has no C++ source",
                    "add kernel.cpp and call it through ctypes",
                )
            )  # fmt: skip
        return findings

    def build(self, candidate: Candidate, zygote: Zygote) -> Built:
        compiler = _compiler()
        if is_inline(candidate):
            return self._build_inline(candidate, compiler, zygote)
        files = {f: t for f, t in candidate.files.items() if not f.endswith(".py")}
        sources = _sources(candidate)
        if not sources:
            raise BuildFailed("no-source", "there is no C++ source to build", ())
        command = (compiler, *_FLAGS)
        compilation = Compilation(files, command, tuple(sources), _LIBRARY, disassembled=True)
        return _compile(compilation, zygote)

    def inspect_build(self, candidate: Candidate, built: Built) -> list[RuleFinding]:
        inline = built.prebuilt_extensions
        called = set() if inline else library_functions(candidate.files[MODEL_FILE])
        findings = check_preprocessed(built.preprocessed, framework_allowed=inline)
        for name, library in built.artefacts.items():
            findings += check_library(library, name, called, framework_allowed=inline)
        return findings

    def ship(self, candidate: Candidate) -> BuildRecipe:
        files, sources = tuple(sorted(candidate.files)), tuple(_sources(candidate))
        if is_inline(candidate):
            return BuildRecipe(self.name, self.shipped_device, files)
        return BuildRecipe(
            self.name,
            self.shipped_device,
            files,
            _LIBRARY,
            sources,
            _COMPILERS,
            _COMPILER_VARIABLE,
            _FLAGS,
        )

    def _build_inline(self, candidate: Candidate, compiler: str, zygote: Zygote) -> Built:
        call = read_inline_extension(candidate, zygote)
        name, include = call.name, (*framework_folders("include"), sysconfig.get_paths()["include"])
        library = f"{name}.so"
        command = (
            compiler, *_FLAGS, f"-DTORCH_EXTENSION_NAME={name}", *(f"-I{path}" for path in include),
        )  # fmt: skip
        link = (*(f"-L{path}" for path in framework_folders("lib")), *_FRAMEWORK_LIBRARIES)
        compilation = Compilation(
            {_EXTENSION: call.text()}, command, (_EXTENSION,), library, link,
            extension={"cpp_sources": "\n".join(call.sources)},
        )  # fmt: skip
        return msgspec.structs.replace(_compile(compilation, zygote), prebuilt_extensions=True)


def _compile(compilation: Compilation, zygote: Zygote) -> Built:
    key = compilation.key(_version(compilation.command[0]), _processor_flags(), MEMORY_RULES)
    result = build_once(key, lambda: _compile_and_inspect(compilation, zygote))
    compiled = Compiled.unpack(result.artefact)
    return Built(
        {compilation.library: compiled.library},
        preprocessed=compiled.preprocessed,
        cached=result.cached,
    )


def _compile_and_inspect(compilation: Compilation, zygote: Zygote) -> bytes:
    compiled = compile_library(compilation, zygote)
    problems = memory_problems(compiled.library)
    if not compilation.extension:  # the framework's headers bring their own
        problems += thread_local_problems(compiled.library)
    if problems:
        raise BuildFailed(
            "memory", problems[0], tuple(problems[:8]),
            "use local variables, allocate what is large, and leave sections and their attributes "
            "to the compiler",
        )  # fmt: skip
    if compiled.instructions:
        raise BuildFailed(
            "instructions", f"it holds {compiled.instructions[0]}", compiled.instructions[:8],
            "call functions by name, choose between your own by templates or lambdas, and leave "
            "system calls, clocks and the floating-point environment alone",
        )  # fmt: skip
    return compiled.pack()


def _sources(candidate: Candidate) -> list[str]:
    return [f for f in sorted(candidate.files) if PurePosixPath(f).suffix in _SOURCE_SUFFIXES]


def _find_compiler() -> str | None:
    wanted = os.environ.get(_COMPILER_VARIABLE)
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
    """The CPU's features, on which -march=native depends."""
    try:
        with open("/proc/cpuinfo") as info:
            return next((line for line in info if line.startswith(("flags", "Features"))), "")
    except OSError:
        return ""
