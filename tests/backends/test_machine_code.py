"""Rules on machine code and executable memory, on libraries that the compiler has made."""

import shutil
import subprocess
from pathlib import Path

import pytest

from kernelmill.backends.cpp import backend
from kernelmill.backends.cpp.library_memory import memory_problems, thread_local_problems
from kernelmill.backends.support.demangling import demangle
from kernelmill.backends.support.machine_code import forbidden_instructions

pytestmark = pytest.mark.compiler

HONEST = """
#include <cmath>
#include <iostream>
#include <vector>
extern "C" int choose(int x, const int* p) {
    switch (x) {
        case 0: return p[0] * 3; case 1: return p[1] + 7; case 2: return p[5] / 3;
        case 3: return p[9] ^ 5; case 4: return p[2] - 9; case 5: return p[33] % 7;
        case 6: return p[20] & 3; case 7: return p[21] | 3; default: return 0;
    }
}
extern "C" double sum(double x, int n) {
    std::vector<double> values(n, x);
    double total = 0;
#pragma omp parallel for reduction(+ : total)
    for (int i = 0; i < n; ++i) total += std::exp(values[i]);
    if (total < 0) std::cerr << "negative";
    return total;
}
"""
CALL = 'extern "C" {attributes} void run(Function* f) {{ f(1); {after} }}'
INDIRECT = {
    "": "indirect call",
    'section(".plt.sec")': "indirect call",
    'section(".init")': "indirect call",
    'section(".text.unlikely.mine")': "indirect call",
    'optimize("optimize-sibling-calls")': "indirect jump",
}
OTHERS = {
    "goto": (
        'extern "C" int f(int x) { static void* t[] = {&&a, &&b, &&c}; goto *t[x];'
        " a: return x; b: return 7 * x; c: return 9; }",
        "indirect jump",
    ),
    "variable": (
        'using F = void(); F* volatile pointer; extern "C" void f() { pointer(); }',
        "indirect call",
    ),
    "virtual": (
        'struct A { virtual int f() = 0; };extern "C" int run(A* a) { return a->f() + 1; }',
        "virtual call",
    ),
    "clock": ('extern "C" long f() { return __builtin_ia32_rdtsc(); }', "a clock"),
}


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    return tmp_path / "kernel.so"


def build(source: str, library: Path) -> Path:
    text = library.with_suffix(".cpp")
    text.write_text(source)
    command = [backend._compiler(), *backend._FLAGS, "-o", str(library), str(text)]
    subprocess.run(command, check=True, capture_output=True)
    return library


def test_honest_code_has_no_forbidden_instruction(compiled: Path) -> None:
    library = build(HONEST, compiled)
    assert forbidden_instructions(library) == []
    assert memory_problems(library.read_bytes()) == []
    assert thread_local_problems(library.read_bytes()) == []


def test_memory_that_cannot_be_compared_is_refused(compiled: Path) -> None:
    vast = 'static long vast[9 << 20]; extern "C" long f(long i) { return ++vast[i]; }'
    assert memory_problems(build(vast, compiled).read_bytes()) == [
        "its variables take more than 64 MiB"
    ]
    own = 'static thread_local long calls; extern "C" long f() { return ++calls; }'
    assert thread_local_problems(build(own, compiled).read_bytes())


@pytest.mark.parametrize("attribute", INDIRECT)
def test_indirect_calls_are_found_in_every_section(compiled: Path, attribute: str) -> None:
    after = "" if "sibling" in attribute else "__sync_synchronize();"
    source = CALL.format(attributes=f"__attribute__(({attribute}))", after=after)
    found = forbidden_instructions(build(f"using Function = void(int); {source}", compiled))
    assert INDIRECT[attribute] in found[0]
    assert " in run: " in found[0]


@pytest.mark.parametrize("name", OTHERS)
def test_other_constructs_are_named(compiled: Path, name: str) -> None:
    source, construct = OTHERS[name]
    assert construct in forbidden_instructions(build(source, compiled))[0]


EXECUTABLE = {
    r'__attribute__((section(".mine,\"awx\",@progbits#"))) int f() { return 1; }': "writable",
    r'__attribute__((section(".text"))) extern const int code[] = {1, 2, 3};': "data among",
}


@pytest.mark.parametrize("source", EXECUTABLE)
def test_odd_executable_memory_is_refused(compiled: Path, source: str) -> None:
    problems = memory_problems(build(source, compiled).read_bytes())
    assert any(EXECUTABLE[source] in problem for problem in problems)


def test_an_executable_stack_is_refused(compiled: Path) -> None:
    library = build("int f() { return 1; }", compiled).read_bytes()
    flags = library.index(b"\x51\xe5\x74\x64") + 4
    changed = library[:flags] + b"\x07" + library[flags + 1 :]
    assert memory_problems(changed) == ["its stack is executable"]


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="c++filt is not installed")
def test_names_are_told_as_they_were_written() -> None:
    assert demangle(["_ZNSt6thread4joinEv", "puts"]) == ["std::thread::join()", "puts"]
