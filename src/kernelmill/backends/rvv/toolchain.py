"""Commands and versions of the compiler and the emulator."""

import functools
import shutil
import subprocess
from pathlib import Path

from kernelmill.backends.support.preprocessing import PREPROCESSED_SUFFIX
from kernelmill.records.errors import BackendUnavailable

COMPILER = "clang++-19"
METER_COMPILER = "clang-19"
LINKER = "ld.lld-19"
EMULATOR = "qemu-riscv64"
PACKAGES = "apt-get install clang-19 lld-19 qemu-user g++-riscv64-linux-gnu"
LIBRARIES = Path("/usr/riscv64-linux-gnu")
"""The C and C++ libraries of the target, as Debian's cross compiler brings them."""
_RUNTIME = Path(__file__).with_name("runtime")
OBJECT, PROGRAM, METER = "kernel.o", "program", "meter.so"
_TARGET = ("--target=riscv64-linux-gnu", "-fuse-ld=lld-19", "-fdiagnostics-color=never", "-w")
_LANGUAGE = ("-std=c++20", "-O3", "-fno-exceptions", "-fno-rtti", "-ferror-limit=5")


def _architecture(bits: int) -> str:
    return f"-march=rv64gcv_zba_zbb_zbs_zfh_zvl{bits}b"


def language_command(bits: int) -> list[str]:
    """The compiler, with the options that decide what it compiles."""
    return [COMPILER, *_TARGET, _architecture(bits), *_LANGUAGE, "-Iruntime"]


def compile_command(bits: int, sources: list[str]) -> list[str]:
    """Compile preprocessed sources to one object, whose symbols and sections can be inspected."""
    compiled = (f"./{source}{PREPROCESSED_SUFFIX}" for source in sources)
    return [*language_command(bits), "-nostdlib", "-r", "-o", OBJECT, *compiled]


def link_command(bits: int) -> list[str]:
    return [
        COMPILER, *_TARGET, _architecture(bits), "-O2", "-static", "-o", PROGRAM,
        OBJECT, "-x", "c", "runtime/call.c",
    ]  # fmt: skip


def meter_command() -> list[str]:
    return [
        METER_COMPILER, "-std=c17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
        "-o", METER, "runtime/meter.c",
    ]  # fmt: skip


def emulator_command(bits: int, folder: Path, manifest: Path, report: Path) -> list[str]:
    """Run the program under the meter. With a fixed seed, the guest's memory is always the same."""
    return [
        EMULATOR,
        "-cpu", f"rv64,v=true,vext_spec=v1.0,vlen={bits},elen=64,Zfh=true",
        "-seed", "1",
        "-plugin", f"{folder / METER},manifest={manifest},report={report},bits={bits}",
        str(folder / PROGRAM),
    ]  # fmt: skip


def runtime_files() -> dict[str, str]:
    """Sources of Kernelmill that go into every build: path in the build folder -> text."""
    return {f"runtime/{path.name}": path.read_text() for path in sorted(_RUNTIME.iterdir())}


def demand(*names: str) -> None:
    """Raise BackendUnavailable if a program or the libraries are missing."""
    missing = [name for name in names if shutil.which(name) is None]
    if not LIBRARIES.is_dir():
        missing.append("the C++ library for riscv64")
    if missing:
        raise BackendUnavailable(f"the rvv backend needs {', '.join(missing)}; run `{PACKAGES}`")


@functools.cache
def version(program: str) -> str:
    """First line of `--version`; empty if there is no such program."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.partition("\n")[0].strip()
