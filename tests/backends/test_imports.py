"""What built libraries may import and keep, on libraries that the compiler has made."""

import subprocess
from pathlib import Path

import pytest

from kernelmill.backends.base import RuleFinding
from kernelmill.backends.cpp import backend
from kernelmill.backends.cpp.binary_rules import check_library
from kernelmill.backends.support.machine_code import forbidden_instructions

pytestmark = pytest.mark.compiler

IDIOMS = sorted((Path(__file__).parent / "idioms").iterdir())
REFUSED = {
    'extern "C" int rand(); extern "C" int f() { return rand(); }': ("rand", "a seed"),
    'extern "C" long sysconf(int); extern "C" long f() { return sysconf(1); }': (
        "sysconf",
        "omp_get_max_threads()",
    ),
    'extern "C" void omp_set_schedule(int, int); extern "C" void f() { omp_set_schedule(1, 2); }': (
        "omp_set_schedule",
        "#pragma omp",
    ),
    'static double now() __attribute__((weakref("omp_get_wtime")));'
    ' extern "C" double f() { return now(); }': ("omp_get_wtime", "no clock"),
    "namespace std::chrono { inline namespace _V2 { struct steady_clock { static long now(); }; } }"
    ' extern "C" long f() { return std::chrono::steady_clock::now(); }': (
        "std::chrono::_V2::steady_clock::now()",
        "no clock",
    ),
    "namespace std { template <class C> struct __basic_file { void* p; long fd(); }; }"
    ' extern "C" long f() { return std::__basic_file<char>().fd(); }': (
        "std::__basic_file<char>::fd()",
        "your own code",
    ),
    "using C = int(const void*, const void*);"
    ' extern "C" void* bsearch(const void*, const void*, unsigned long, unsigned long, C*);'
    ' extern "C" void* f(C* c, void* p) { return bsearch(p, p, 1, 1, c); }': (
        "bsearch",
        "std::sort",
    ),
    'extern "C" int* __errno_location(); extern "C" int f() { return ++*__errno_location(); }': (
        "__errno_location",
        "local variables",
    ),
    '#include <cstdio>\nextern "C" int f(int x) { return std::fprintf(stderr, "%d", x); }': (
        "fprintf",
        "print nothing",
    ),
    '#include <iostream>\nextern "C" void f() { std::cerr.width(std::cerr.width() + 1); }': (
        "std::cerr",
        "print",
    ),
}
STATE = (
    "static long calls_array_entry; long f() { return ++calls_array_entry; }",
    'extern "C" { long _ZTVcounter; } long f() { return ++_ZTVcounter; }',
    'extern "C" { long data_start; } long f() { return ++data_start; }',
    "namespace std { static long __ioinit; } long f() { return ++std::__ioinit; }",
    "thread_local long calls; long f() { return ++calls; }",
)
ENVIRONMENT = {
    "#include <immintrin.h>\nvoid f() { _mm_setcsr(0x9fc0); }": "floating-point environment",
    "void f() { const char state[28] = {}; __builtin_ia32_fldenv(state); }": (
        "floating-point environment"
    ),
    "#include <immintrin.h>\nunsigned f() { unsigned r; _rdrand32_step(&r); return r; }": (
        "random number"
    ),
    "long f() { return *static_cast<long*>(__builtin_thread_pointer()); }": "thread's own memory",
}


def build(source: Path | str, folder: Path, *options: str) -> Path:
    if isinstance(source, str):
        text, source = source, folder / "kernel.cpp"
        source.write_text(text)
    library = folder / "kernel.so"
    command = [backend._compiler(), *backend._FLAGS, *options, "-o", str(library), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    return library


def findings(library: Path) -> list[RuleFinding]:
    return check_library(library.read_bytes(), library.name, set())


@pytest.mark.parametrize("source", IDIOMS, ids=lambda source: source.stem)
def test_honest_idioms_are_accepted(source: Path, tmp_path: Path) -> None:
    library = build(source, tmp_path, "-O1")
    assert findings(library) == []
    assert forbidden_instructions(library) == []


@pytest.mark.parametrize("source", REFUSED, ids=lambda source: REFUSED[source][0])
def test_a_refused_import_is_named_with_what_to_use_instead(source: str, tmp_path: Path) -> None:
    name, instead = REFUSED[source]
    found = [one for one in findings(build(source, tmp_path)) if one.what == f"imports {name}"]
    assert [one.rule for one in found] == ["foreign-function"]
    assert instead in found[0].instead


@pytest.mark.parametrize("source", STATE)
def test_no_name_excuses_state(source: str, tmp_path: Path) -> None:
    assert "state" in {one.rule for one in findings(build(source, tmp_path))}


@pytest.mark.parametrize("source", ENVIRONMENT)
def test_the_state_of_the_caller_is_left_alone(source: str, tmp_path: Path) -> None:
    assert ENVIRONMENT[source] in forbidden_instructions(build(source, tmp_path, "-mrdrnd"))[0]
