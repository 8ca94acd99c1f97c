"""Building C++ candidates with the system's compiler, without framework headers."""

import functools
import importlib.util
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from kernelmill import __version__
from kernelmill.backends.base import Backend, BuildFailed, Built, Finding, Requirement
from kernelmill.backends.cpp import cache, machine
from kernelmill.backends.cpp.binary_rules import check_library
from kernelmill.backends.cpp.diagnostics import first_errors
from kernelmill.backends.cpp.source_rules import check_text
from kernelmill.backends.python_rules import PythonRules, library_functions
from kernelmill.candidate import MODEL_FILE, Candidate
from kernelmill.errors import BackendUnavailable
from kernelmill.sandbox import (
    Cell,
    CellFailure,
    CellLimitExceeded,
    CellTimeout,
    Limits,
    Policy,
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
_LARGEST_LIBRARY = 64 << 20
_SECONDS = 120.0
_POLICY = Policy(
    limits=Limits(memory_bytes=6 << 30, lifetime_seconds=_SECONDS + 10, processes=64),
    may_execute=True,
)
_PROGRAMS = "kernelmill.backends.cpp.compiling"
_PYTHON_RULES = PythonRules(frozenset({"torch.utils.cpp_extension.load_inline"}))


class CppBackend(Backend):
    name = "cpp"
    title = "CPU, C++20 with SIMD and OpenMP"
    zygote_modules = (_PROGRAMS,)

    def requirements(self) -> list[Requirement]:
        compiler = _find_compiler()
        remedy = "apt-get install g++ (or make setup-system)"
        return [
            Requirement("C++ compiler", _version(compiler) if compiler else "", remedy),
            Requirement("objdump", shutil.which("objdump") or "", "apt-get install binutils"),
            Requirement(
                "build cache",
                "" if cache.usable() else str(cache.cache_folder()),
                f"make it writable, or set XDG_CACHE_HOME ({cache.usable()})",
            ),
        ]

    def toolchain(self) -> str:
        return _version(_compiler())

    def machine(self) -> tuple[str, ...]:
        return machine.describe()

    def inspect_sources(self, candidate: Candidate) -> list[Finding]:
        findings = _PYTHON_RULES.check(candidate.files[MODEL_FILE], MODEL_FILE)
        inline = _is_inline(candidate)
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
        if _is_inline(candidate):
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
        """KernelBench's single-file form: note the call to load_inline, build what it asks for."""
        call = _record(candidate, zygote)
        name, text = call.name, _extension_source(call)
        if not name.isidentifier() or not all(f.isidentifier() for f in call.functions):
            raise BuildFailed("name", f"{name!r} is not a name for an extension", ())
        findings = check_text("\n".join(call.sources), "cpp_sources", framework_allowed=True)
        if findings:
            raise BuildFailed("integrity", str(findings[0]), tuple(map(str, findings)))
        include = (*_framework_folders("include"), sysconfig.get_paths()["include"])
        command = (
            *_FLAGS, f"-DTORCH_EXTENSION_NAME={name}", *(f"-I{path}" for path in include),
            "-o", f"{name}.so", "extension.cpp",
            *(f"-L{path}" for path in _framework_folders("lib")), *_FRAMEWORK_LIBRARIES,
        )  # fmt: skip
        library, cached = self._compile({"extension.cpp": text}, command, zygote, True)
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
        arguments = {"files": files, "command": [compiler, *options], "output": output}
        with _builder("compile_sources", arguments, zygote) as cell:
            body, descriptors = cell.request({"go": True}, _SECONDS)
            library = _take(descriptors)
        if body["status"] < 0:
            raise BuildFailed("crash", f"the compiler was killed by signal {-body['status']}", ())
        if body["status"] != 0 or library is None:
            raise BuildFailed(
                "compile-error", "the compiler refuses it", first_errors(str(body["output"]))
            )
        if body["instructions"] and not with_framework:
            raise BuildFailed(
                "instructions", "it holds instructions a kernel has no use for",
                tuple(str(line) for line in body["instructions"][:8]),
                "call functions by name, and leave system calls and clocks alone",
            )  # fmt: skip
        cache.store(key, library)
        return library, False


@contextmanager
def _builder(entry: str, arguments: dict[str, Any], zygote: Zygote) -> Iterator[Cell]:
    try:
        with zygote.spawn(f"{_PROGRAMS}:{entry}", arguments, _POLICY) as cell:
            yield cell
    except CellTimeout as failure:
        raise BuildFailed(
            "time-out", f"not built within {failure.seconds:.0f} s", (), "simplify templates"
        ) from failure
    except CellLimitExceeded as failure:
        raise BuildFailed("limit", f"the build went {failure}", ()) from failure
    except CellFailure as failure:
        raise BuildFailed("crash", f"the build {failure}", ()) from failure


def _take(descriptors: list[int]) -> bytes | None:
    content = None
    for descriptor in descriptors:
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(file.fileno()).st_size <= _LARGEST_LIBRARY:
                content = file.read()
    return content


def _sources(candidate: Candidate) -> list[str]:
    return [f for f in sorted(candidate.files) if PurePosixPath(f).suffix in _SOURCE_SUFFIXES]


def _is_inline(candidate: Candidate) -> bool:
    return "load_inline" in candidate.files[MODEL_FILE]


class _Recorded(msgspec.Struct):
    """A call of load_inline, as a candidate's code made it: anything may be in it."""

    name: str
    sources: list[str]
    functions: list[str]


def _record(candidate: Candidate, zygote: Zygote) -> _Recorded:
    with _builder("record_extension", {"source": candidate.files[MODEL_FILE]}, zygote) as cell:
        body, files = cell.request({"go": True}, _SECONDS)
    for file in files:
        os.close(file)
    try:
        return msgspec.convert(body, _Recorded)
    except (msgspec.ValidationError, RecursionError):
        said = str(body.get("error", ""))[:500]
        raise BuildFailed("import", "model.py does not reach load_inline", (said,)) from None


@functools.cache
def _framework_folders(kind: str) -> tuple[str, ...]:
    """Where the framework's headers or libraries lie, found without importing it."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise BackendUnavailable("torch is not installed")
    root = Path(spec.origin).parent / kind
    inner = root / "torch" / "csrc" / "api" / "include"
    return (str(root), str(inner)) if kind == "include" else (str(root),)


def _extension_source(call: _Recorded) -> str:
    bindings = "".join(f'  m.def("{name}", &{name});\n' for name in call.functions)
    module = f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n{bindings}}}\n" if bindings else ""
    return "\n".join(["#include <torch/extension.h>", *call.sources, module])


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
